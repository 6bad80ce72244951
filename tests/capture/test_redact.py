"""Secrets do not come through, everything else does, and a stream is no different from a text.

All values are made at run time from seeded generators: no whole secret stands in this file.
"""

from __future__ import annotations

import random
import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.capture.redact import WINDOW, Redactor, cut
from tests.capture.test_secrets import BY_KIND, CLASSES, SHAPES, canaries, made

KEY = b"k" * 32

CONTEXTS = {
    "bare": "{}",
    "json string": '{{"thing": "{}", "n": 1}}',
    "json text with escapes": '{{"out": "first line\\n{}\\nlast line"}}',
    "env line": "A=1\nTHING={}\nB=2\n",
    "shell command": "run --thing {} && echo done",
    "python source": 'def f():\n    return g("{}")  # as before\n',
    "markdown": "Use `{}` as **thing**.",
    "url": "https://api.test/v1/items?thing={}&page=2",
    "log line": "2031-01-02 03:04:05 INFO worker: thing={} took 3 ms",
    "traceback": "  File \"a.py\", line 3, in f\nValueError: bad thing: '{}'\n",
    "coloured terminal": "\x1b[32m{}\x1b[0m ok",
    "another language": "Ключ «{}» больше не нужен, 密钥已过期",
    "quoted reply": "> {}\n> thanks",
}


def redacted(text: str) -> str:
    redactor = Redactor(KEY)
    result = redactor.text(text)
    assert redactor.text(result) == result, "redacting twice changes something"
    return result


# -- what must go ----------------------------------------------------------------------------------


@pytest.mark.parametrize("context", CONTEXTS)
def test_no_secret_comes_through_in_any_context(context: str) -> None:
    left, right = CONTEXTS[context].format("\0").split("\0")
    for kind, before, secret, after in canaries(seed=2, times=2):
        if before or after:
            continue  # these bring a context of their own
        result = redacted(left + secret + right)
        assert secret not in result
        assert longest_common_part(secret, result) < 16, (kind, secret, result)
        assert result.startswith(left)
        assert result.endswith(right)
        assert f"[redacted:{kind}:" in result, (kind, result)


def longest_common_part(secret: str, result: str) -> int:
    rest = result
    size = 0
    while any(secret[at : at + size + 1] in rest for at in range(len(secret) - size)):
        size += 1
    return size


@pytest.mark.parametrize("wrap", ["{}", "say: {} .", "  {}\n", "# {}", '{{"cmd": "{}"}}', "é{}\tü"])
def test_of_a_secret_in_context_only_the_secret_goes(wrap: str) -> None:
    for kind, before, secret, after in canaries(seed=3, times=6):
        if not before and not after:
            continue
        if '"' in wrap and '"' in before + after:
            continue
        result = redacted(wrap.format(before + secret + after))
        assert secret not in result, (kind, before + secret + after)
        assert before in result, (kind, result)
        assert f"[redacted:{kind}:" in result, (kind, result)


@pytest.mark.parametrize("kind", SHAPES)
def test_most_random_values_of_a_kind_are_found(kind: str) -> None:
    rng = random.Random(kind)
    redactor = Redactor(KEY)
    for shape in SHAPES[kind].split("|"):
        missed = 0
        for _ in range(50):
            before, secret, after = made(shape, rng)
            missed += secret in redactor.text(before + secret + after)
        # a value without any digit may pass as a word where only the rule of entropy decides
        assert missed <= (2 if "«" in shape else 0), shape


def test_a_cut_leaves_no_half_of_a_secret_that_nobody_knows_any_more() -> None:
    redactor = Redactor(KEY)
    for kind, before, secret, after in canaries(seed=11):
        text = "word " * 40 + before + secret + after + " and more words" * 9
        if secret in redactor.text(text):
            continue  # it is not known when it is whole either
        start = text.index(secret)
        for most in range(start - 3, start + len(secret) + len(after) + 3):
            left = redactor.text(cut(text, most))
            told = left.replace(text[:start], "", 1)  # what stood before it may be alike
            assert longest_common_part(secret, told) <= 8, (kind, most - start, told)
            assert len(cut(text, most)) <= most


def test_what_is_short_enough_is_not_cut_and_what_holds_no_secret_is_cut_where_it_should_be() -> (
    None
):
    text = "word " * 40
    assert cut(text, 200) is text
    assert cut(text, 199) == text[:199]


def test_secrets_side_by_side_all_go() -> None:
    values = [(before + secret + after, secret) for _, before, secret, after in canaries(seed=4)]
    for joiner in ("\n", "\n\n", " \n"):
        result = redacted(joiner.join(text for text, _ in values))
        assert not [secret for _, secret in values if secret in result]


def test_a_key_without_its_last_rail_goes_up_to_its_last_line() -> None:
    rng = random.Random(5)
    lines = ["".join(rng.choices(CLASSES["B"], k=64)) for _ in range(30)]
    rail = "-----BEGIN RSA PRIVATE KEY-----"
    for joiner in ("\n", "\\n", "\r\n", "\n> ", '\\n" +\n    "', "\n   12\t"):
        result = redacted("head\n" + joiner.join([rail, *lines]) + "\nThe words after stay.")
        assert result.startswith("head\n[redacted:private-key:")
        assert result.endswith("\nThe words after stay.")
        assert not [line for line in lines if line in result]


def test_the_same_secret_has_the_same_mark_and_another_key_another() -> None:
    secret = "ghp_" + "".join(random.Random(6).choices(CLASSES["A"], k=36))
    one, two = Redactor(KEY).text(f"a {secret} b {secret}").split(" b ")
    assert one == f"a {two}"
    assert Redactor(b"other").text(secret) != two


def test_counts_tell_what_was_replaced() -> None:
    redactor = Redactor(KEY)
    rng = random.Random(7)
    for shape in ("ghp_{A36}", "ghp_{A36}", "AKIA{X16}"):
        redactor.text(made(shape, rng)[1])
    assert redactor.counts() == {"github": 2, "aws-access-key": 1}


# -- what must stay --------------------------------------------------------------------------------

HEX = "".join(random.Random(8).choices("0123456789abcdef", k=128))
B64 = "".join(random.Random(9).choices(CLASSES["B"], k=400))
UUID = f"{HEX[:8]}-{HEX[8:12]}-4{HEX[13:16]}-a{HEX[17:20]}-{HEX[20:32]}"

NEAR_MISSES = [
    f"commit {HEX[:40]}",
    f"{HEX[:7]}..{HEX[7:14]} main -> main",
    f"id: {UUID}",
    f'"token": "{UUID}"',
    f"sha256:{HEX[:64]}",
    f'"integrity": "sha512-{B64[:86]}=="',
    f"    --hash=sha256:{HEX[:64]} \\",
    f'checksum = "{HEX[:64]}"',
    f'<img src="data:image/png;base64,iVBORw0KGgo{B64}=">',
    f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5{B64[:44]} me@host",
    "-----BEGIN CERTIFICATE-----\nMIIB" + B64[:60] + "\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIB" + B64[:60] + "\n-----END PUBLIC KEY-----",
    "A PEM file begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.",
    "from package.subpackage.module_with_long_name import SomethingRatherLong_2",
    "https://example.org/a/very/long/path/with/segments_and-dashes?page=2&sort=asc#anchor",
    "http://localhost:8080/user@example.org/settings",
    "ssh://git@github.com:22/owner/repository.git",
    "git@github.com:owner/repository.git",
    "postgresql://localhost:5432/app",
    "postgresql://user:password@localhost/app",
    "postgresql://${DB_USER}:${DB_PASSWORD}@${DB_HOST}/app",
    "redis://:<password>@host:6379",
    "mongodb://%s:%s@%s/%s",
    "token = tokenizer.next()",
    "token = tokens[i]",
    "tokens = 4096",
    "max_tokens=128000",
    "next_token = response.next_token",
    "password: str",
    "password: str | None = None",
    "password: Optional[SecretStr] = Field(default=None)",
    "def login(user: str, password: str) -> Token:",
    "def __init__(self, user, password=None, token=None, secret=None):",
    'password = os.environ["DB_PASSWORD"]',
    'password = getpass.getpass("Password: ")',
    'api_key = os.getenv("OPENAI_API_KEY", "")',
    "apiKey: process.env.OPENAI_API_KEY,",
    "client_secret = config.oauth.client_secret",
    "password=password, token=token, secret=self._secret)",
    "PASSWORD=$DB_PASSWORD",
    "TOKEN=${{ secrets.GITHUB_TOKEN }}",
    "API_KEY=<your-api-key>",
    "API_KEY=your_api_key_here",
    "SECRET_KEY=changeme",
    "export TOKEN=$(cat /run/secrets/token)",
    "password: changeme",
    "password: example-password",
    'password = "xxxxxxxxxxxx"',
    'password = "********"',
    '"password": "string"',
    '"password": null, "token": true, "secret": false',
    "password_file = /run/secrets/db_password",
    "secret: /etc/app/secret.txt",
    "private_key = ./keys/server_2.pem",
    'token_url = "https://auth.example.org/oauth2/token"',
    "--password-stdin --token-file ./token",
    "--password <password> --token TOKEN",
    "The password is required and must be changed after the first login.",
    "Your password: at least eight characters, one of them a digit.",
    "She said the secret: nobody knows it.",
    "A token is a word; tokenization: splitting text into words.",
    "Passwords are hashed with argon2id; the key=value pairs are not.",
    "Enter password:",
    "Bearer tokens are sent in the Authorization header.",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "the bearer of this letter, the standard-bearer internationalization",
    ".password-input{color:#a1b2c3;background:url(data:image/svg+xml,x)} .token-list>li{margin:0}",
    '<input type="password" name="password" placeholder="Password" autocomplete="current-password">',
    '<label for="password">Password</label>',
    "function a(b,c){var d=b.token,e=c.secretKey;return d===e?f(d):g(e)}",
    "!function(e,t){for(var n=t.passwordField,r=0;r<n.length;r++)e.tokenList.push(n[r])}",
    "sk-spinner sk-fading-circle sk-cube-grid-animation-delay",
    "task-force_and-risk-assessment-for-internationalization",
    "test_that_the_hf_model_loads and npm_config_registry and npm_package_dependencies_react",
    "docker run -u 1000:1000 image",
    "mkdir -p path/to/dir",
    "mysql -u root -p shop",
    "ls -la --user-agent=Mozilla/5.0",
    "assert token.type == TokenType.NAME",
    "if password != confirmation:",
    "Signature: a1b2c3",
    f"etag: {HEX[:32]}",
    f"x-request-id: {HEX[:32]}",
    "cookie: none",
    "key-value-store key-a1b2c3",
    "==========================================================",
    "----------------------------------------------------------",
    "AKIA is the prefix of a long-lived key, ghp_ the one of a token, sk-ant- another.",
    "das Passwort: bitte ändern; пароль: неизвестен; 密码：未知",
]


@pytest.mark.parametrize("text", NEAR_MISSES)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    redactor = Redactor(KEY)
    assert redactor.spans(text) == []
    assert redactor.text(text) is text
    assert redactor.counts() == {}


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters=":=>")))
def test_text_without_pairs_and_tokens_is_given_back_as_the_same_object(text: str) -> None:
    assert Redactor(KEY).text(text[:15]) is text[:15] or len(text) >= 15


def test_lone_surrogates_do_not_raise_and_secrets_beside_them_go() -> None:
    secret = "ghp_" + "".join(random.Random(10).choices(CLASSES["A"], k=36))
    for lone in ("\ud800", "\udfff", "\udc80"):
        result = redacted(f"{lone} {secret} password='a{lone}b12345'")
        assert secret not in result
        assert "b12345" not in result


# -- properties ------------------------------------------------------------------------------------

_WORDS = (
    "the a token password= password: secret 'x' \" { } [ ] , ; & : :// @ = -- -u --token \\n \\ / . _ "
    "- sk- ghp_ eyJ AKIA Bearer Authorization: [redacted: [redacted:password:0123456789ab] 密码 é ~Q~ "
    "%3D -----BEGIN -----END PRIVATE KEY----- 0123456789abcdef password is login xx TOKEN= ${X} example "
    "cookie: sid= <password> mysql -p \n \n\n \t \r\n"
)
WORDS = st.sampled_from(_WORDS.split(" "))
CANARY_SEED = st.integers(0, 5)
PLANTED = {
    seed: [before + secret + after for _, before, secret, after in canaries(seed=100 + seed)]
    for seed in range(6)
}


@st.composite
def texts(draw: st.DrawFn) -> str:
    parts = draw(
        st.lists(
            st.one_of(
                WORDS,
                st.text(max_size=12),
                st.text(alphabet="aA1-_.=+/ ", max_size=40),
                CANARY_SEED.flatmap(lambda seed: st.sampled_from(PLANTED[seed])),
            ),
            max_size=14,
        )
    )
    return draw(st.sampled_from(["", " ", "\n"])).join(parts)


def streamed(text: str, sizes: list[int]) -> str:
    stream = Redactor(KEY).stream()
    parts: list[str] = []
    at = 0
    while at < len(text):
        size = sizes[len(parts) % len(sizes)]
        parts.append(stream.feed(text[at : at + size]))
        at += size
    return "".join(parts) + stream.finish()


@settings(max_examples=250, deadline=None)
@given(texts())
def test_redacting_redacted_text_changes_nothing(text: str) -> None:
    redactor = Redactor(KEY)
    once = redactor.text(text)
    assert redactor.text(once) == once


@settings(max_examples=250, deadline=None)
@given(texts(), st.lists(st.integers(1, 60), min_size=1, max_size=5))
def test_a_stream_gives_what_the_whole_text_gives(text: str, sizes: list[int]) -> None:
    assert streamed(text, sizes) == Redactor(KEY).text(text)


@settings(max_examples=100, deadline=None)
@given(texts())
def test_spans_are_in_order_and_do_not_overlap(text: str) -> None:
    end = 0
    for left, right, kind in Redactor(KEY).spans(text):
        assert end <= left < right <= len(text)
        assert kind in SHAPES
        end = right


def long_line(seed: int, length: int, joiner: str = " ") -> str:
    """Secrets and words without a line end."""
    rng = random.Random(seed)
    planted = [text.replace("\n", "\\n") for text in PLANTED[seed % 6]]
    parts: list[str] = []
    size = 0
    while size < length:
        others = ["word", "token=", "x:", "é", "[redacted:password:0123456789ab]"]
        part = rng.choice(planted if rng.random() < 0.4 else others)
        parts.append(part)
        size += len(part) + 1
    return joiner.join(parts)


@pytest.mark.parametrize(
    ("size", "joiner"), [(997, ""), (997, " "), (8192, ""), (8192, "="), (50_000, ",")]
)
def test_a_line_longer_than_the_window_is_cut_without_harm(size: int, joiner: str) -> None:
    text = long_line(size + len(joiner), 100_000, joiner)
    whole = redacted(text)
    assert streamed(text, [size]) == whole


def test_a_stream_holds_back_only_an_unfinished_line_or_key() -> None:
    stream = Redactor(KEY).stream()
    assert stream.feed("one line\nand ") == "one line\n"
    assert stream.feed("more\n") == "and more\n"
    assert stream.feed("-----BEGIN PRIVATE KEY-----\n" + B64[:64] + "\n") == ""
    assert stream.finish().startswith("[redacted:private-key:")


@pytest.mark.parametrize("unit", ["a", "a b ", "-----BEGIN PRIVATE KEY-----\n", "\n", "token="])
def test_a_stream_holds_back_a_bounded_amount(unit: str) -> None:
    stream = Redactor(KEY).stream()
    fed = given_back = 0
    chunk = unit * (1000 // len(unit))
    for _ in range(300):
        fed += len(chunk)
        given_back += len(stream.feed(chunk))
        held = sum(map(len, stream._parts)) + len(stream._behind)
        assert held <= 2 * WINDOW + len(chunk) + 64
    assert given_back > 0


def test_a_key_fed_by_single_characters_is_one_mark() -> None:
    text = "a\n" + next(s for k, _, s, _ in canaries(seed=11) if k == "private-key") + "\nb\n"
    assert streamed(text, [1]) == Redactor(KEY).text(text)


HOSTILE = [
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n" + "a" * 64 + "\n",
    "-----BEGIN ",
    "[redacted:",
    "[redacted:password:0123456789ab]token=",
    "eyJaaaaaaaaaaaaaaaaa.",
    "aaaaaaaaaaaaaaaa.",
    "token=",
    "PASSWORD=",
    "password='",
    "://a:",
    "sig=",
    "key-_",
    "authorization:",
    "secret:a:",
    "PASSWORD=a=",
    "cookie:abcdefghabcdefgh",
    "secret=\"a secret='b secret=`c ",
    "A",
]


@pytest.mark.parametrize("unit", ["secret:{}:", "cookie:{}", "PASSWORD={}=", "pwd:{}"])
def test_a_value_does_not_reach_over_all_the_names_that_follow(unit: str) -> None:
    """Else each name would be judged with the rest of the text as its value."""
    row = BY_KIND[
        {"s": "assigned-secret", "c": "cookie", "P": "env-secret", "p": "password"}[unit[0]]
    ]
    text = "".join(unit.format("abcdefgh" * 2) for _ in range(400))
    reach = [len(found[0]) for found in re.finditer(row.pattern, text, re.ASCII)]
    assert reach
    assert max(reach) < 400


def test_values_with_colons_and_equal_signs_go_in_full() -> None:
    for text, secret in (
        ("password: a7:b8:c9:d0", "a7:b8:c9:d0"),
        ("password: :x1y2z3", ":x1y2z3"),
        ("DB_PASSWORD=a7=b8==c9", "a7=b8==c9"),
        ("api_key: 12345:aB3dE5gH7jK9", "12345:aB3dE5gH7jK9"),
    ):
        assert redacted(text) == text.replace(secret, "") + mark_in(redacted(text))


def mark_in(text: str) -> str:
    return text[text.index("[redacted:") : text.index("]") + 1]


@pytest.mark.timeout(60)  # a pattern that takes the square of these texts needs minutes
@pytest.mark.parametrize("unit", HOSTILE)
def test_a_hostile_text_is_read_to_its_end_and_in_order(unit: str) -> None:
    text = (unit * (640_000 // len(unit) + 1))[:640_000]
    places = [place for left, right, _ in Redactor(KEY).spans(text) for place in (left, right)]
    assert places == sorted(places)
    assert all(0 <= place <= len(text) for place in places)


# -- paths -----------------------------------------------------------------------------------------

_DENIED = (
    ".env .env.local config/.env.production prod.env .envrc certs/server.pem tls.key ~/.ssh/id_rsa "
    "id_ed25519 .ssh/work store.p12 a.pfx b.jks app.keystore .netrc _netrc .pgpass .npmrc .pypirc "
    ".git-credentials ~/.aws/credentials .docker/config.json /root/.kube/config secrets.yml "
    "conf/secrets.yaml secrets.json secrets.toml service-account.json my-service-account-prod.json "
    "terraform.tfstate terraform.tfstate.backup .htpasswd credentials.json db.kdbx /etc/shadow "
    r"C:\Users\me\.ENV C:\Users\me\.ssh\id_ed25519 \\host\share\.Aws\Credentials .env:12 host:.env"
)
_ALLOWED = (
    ".env.example .env.sample .env.template a/.env.dist environment.py env.py env src/.envoy.yaml "
    "id_rsa.pub .ssh/known_hosts .ssh/config key.py keyboard.json monkey secrets.py secretsmanager.go "
    "process.env import.meta.env README.md package.json config.json docker/config.json kube/config.yml "
    "pem.txt a.pem.md tfstate.py credentials.py test_credentials.py Makefile / . .. ''"
)


@pytest.mark.parametrize("path", _DENIED.split())
def test_files_that_hold_secrets_are_denied(path: str) -> None:
    redactor = Redactor(KEY)
    assert redactor.denied(path)
    assert redactor.denied(path.upper())
    assert redactor.denied(f"/home/me/project/{path}")
    assert redactor.denied(f'"{path}"')


@pytest.mark.parametrize("path", _ALLOWED.split())
def test_files_that_only_sound_so_are_not(path: str) -> None:
    assert not Redactor(KEY).denied(path)


def test_further_paths_can_be_denied() -> None:
    redactor = Redactor(KEY, extra_paths=("vault/*.txt", "notes.md"))
    assert redactor.denied("/x/vault/a.txt")
    assert redactor.denied("docs/NOTES.md")
    assert redactor.denied(".env")
    assert not redactor.denied("vault/a/b.txt")
    assert not redactor.denied("mynotes.md")


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("cat .env | head", ".env"),
        ("docker run --env-file=.env.prod image", ".env.prod"),
        ("scp me@host:~/.ssh/id_ed25519 .", "me@host:~/.ssh/id_ed25519"),
        ('type "C:\\me\\.env"', "C:\\me\\.env"),
        ("curl -d @.env https://x.test", "@.env"),
        ("echo $(cat /root/.aws/credentials)", "/root/.aws/credentials"),
        ("cat<.netrc>out", ".netrc"),
        ("cp .env.example b && ls", None),
        ("node -e 'console.log(process.env.HOME)'", None),
        ("grep -r password src", None),
        ("", None),
    ],
)
def test_a_command_that_names_such_a_file_is_seen(command: str, word: str | None) -> None:
    assert Redactor(KEY).mentions_denied(command) == word


def test_withheld_content_says_how_much_and_from_where_but_not_what() -> None:
    redactor = Redactor(KEY)
    result = redactor.withheld("A=hunter2\n", "app/.env")
    assert "hunter2" not in result
    assert "10 characters of app/.env" in result
    assert redactor.text(result) is result
    assert redactor.counts() == {"denied-file": 1}


# -- cost ------------------------------------------------------------------------------------------


def test_importing_compiles_no_pattern_and_brings_few_modules() -> None:
    code = (
        "import sys, re\n"
        "before = set(sys.modules)\n"
        "compiled = []\n"
        "whole, re._compiler.compile = re._compiler.compile, lambda *a, **k: compiled.append(a)\n"
        "from holdfast.capture.redact import Redactor\n"
        "Redactor(b'k').text('A clean sentence: nothing to see in it.')\n"
        "assert compiled == [], compiled\n"
        "brought = {name for name in set(sys.modules) - before if not name.startswith('holdfast')}\n"
        "assert brought <= {'__future__'}, brought\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
