"""The table of formats: every row is bounded, linear, stays within a line, and has a true gate.

Values are made at run time from a seeded generator: no whole secret stands in this file.
"""

from __future__ import annotations

import importlib
import random
import re
import string
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.capture import redact, secrets
from holdfast.capture.secrets import Format

ROWS: list[Format] = [*secrets.RUNS, *secrets.DOTTED, *secrets.PAIRS, *secrets.PLAIN]
BY_KIND = {row.kind: row for row in ROWS}

CLASSES = {
    "A": string.ascii_letters + string.digits,
    "B": string.ascii_letters + string.digits + "+/",
    "D": string.digits,
    "U": string.ascii_letters + string.digits + "_-",
    "X": string.ascii_uppercase + string.digits,
    "x": "0123456789abcdef",
}

# {A36}: thirty-six letters and digits. What stands between « and » is the secret; all of it if none.
SHAPES = {
    "anthropic": "sk-ant-api03-{U93}AA|sk-ant-admin01-{U93}AA|sk-ant-oat01-{U93}AA",
    "openrouter": "sk-or-v1-{x64}",
    "langfuse": "sk-lf-{x8}-{x4}-{x4}-{x4}-{x12}",
    "openai": "sk-{A48}|sk-proj-{U156}|sk-svcacct-{U120}|sk-admin-{U120}",
    "github": "ghp_{A36}|gho_{A36}|ghu_{A36}|ghs_{A36}|ghr_{A76}",
    "github-pat": "github_pat_{A22}_{A59}",
    "gitlab": "glpat-{U20}|glpat-{U27}.01.{x9}|glrt-{U20}|gldt-{U20}|glptt-{x40}|GR1348941{U20}",
    "aws-access-key": "AKIA{X16}|ASIA{X16}",
    "google-api-key": "AIza{U35}",
    "google-oauth": "ya29.{U120}",
    "google-client-secret": "GOCSPX-{U28}",
    "google-refresh-token": "1//0{U60}",
    "slack": "xoxb-{D12}-{D13}-{A24}|xoxp-{D12}-{D12}-{D12}-{x32}|xoxe.xoxp-1-{A146}",
    "slack-app": "xapp-1-A{X10}-{D13}-{x64}",
    "stripe": "sk_live_{A24}|rk_live_{A99}|sk_test_{A24}",
    "webhook-secret": "whsec_{A32}|whsec_{B32}=",
    "sendgrid": "SG.{U22}.{U43}",
    "mailgun": "key-{x32}",
    "mailchimp": "{x32}-us12",
    "npm": "npm_{A36}",
    "pypi": "pypi-AgEIcHlwaS5vcmc{U120}",
    "huggingface": "hf_{A34}",
    "digitalocean": "dop_v1_{x64}|doo_v1_{x64}",
    "shopify": "shpat_{x32}|shpss_{x32}",
    "telegram": "{D10}:AA{U33}",
    "databricks": "dapi{x32}|dapi{x32}-2",
    "vault": "hvs.{U90}|hvb.{U138}",
    "docker": "dckr_pat_{U27}",
    "linear": "lin_api_{A40}",
    "notion": "ntn_{A46}|secret_{A43}",
    "groq": "gsk_{A52}",
    "xai": "xai-{A80}",
    "replicate": "r8_{A37}",
    "perplexity": "pplx-{A48}",
    "supabase": "sbp_{x40}",
    "supabase-secret": "sb_secret_{U31}",
    "atlassian": "ATATT3{U180}={x8}",
    "bitbucket": "ATBB{A32}",
    "age": "AGE-SECRET-KEY-1{X58}",
    "jwt": "eyJ{U33}.eyJ{U120}.{U43}",
    "newrelic": "NRAK-{X27}",
    "grafana": "glsa_{A32}_{x8}",
    "doppler": "dp.pt.{A43}",
    "planetscale": "pscale_tkn_{U43}",
    "fly": "fm2_{B200}",
    "postman": "PMAK-{x24}-{x34}",
    "sentry": "sntryu_{x64}",
    "pulumi": "pul-{x40}",
    "terraform": "{A14}.atlasv1.{U67}",
    "square": "sq0atp-{U22}",
    "facebook": "EAAC{A160}",
    "figma": "figd_{U40}",
    "rubygems": "rubygems_{x48}",
    "1password": "ops_eyJ{A300}",
    "contentful": "CFPAT-{U43}",
    "langsmith": "lsv2_pt_{x32}_{x10}",
    "pinecone": "pcsk_{A5}_{A63}",
    "tavily": "tvly-{A32}|tvly-dev-{A32}",
    "nvidia": "nvapi-{U64}",
    "sonar": "squ_{x40}",
    "e2b": "e2b_{x40}",
    "alibaba": "LTAI{A20}",
    "mapbox": "sk.eyJ{U80}.{U22}",
    "dynatrace": "dt0c01.{X24}.{X64}",
    "azure-client-secret": "{A3}8Q~{U34}",
    "discord": "M{A25}.{U6}.{U38}",
    "airtable": "pat{A14}.{x64}",
    "bearer": "Bearer «{U40}»|curl -H 'X-Auth: bearer «{U32}»'",
    "aws-secret-key": 'aws_secret_access_key = «{B40}»|"SecretAccessKey": "«{B40}»"',
    "aws-session-token": 'aws_session_token=«{B300}»|"SessionToken": "«{B300}»"',
    "azure-account-key": "AccountName=me;AccountKey=«{B86}==»;EndpointSuffix=x",
    "azure-sas": "https://a.test/c?sv=2022-11-02&sig=«{A43}%3D»&se=2030",
    "signed-url": "https://s3.test/o?X-Amz-Expires=60&X-Amz-Signature=«{x64}»",
    "twilio": "TWILIO_ACCOUNT_SID=«AC{x32}»|'sid': '«SK{x32}»'",
    "basic-auth": "Authorization: Basic «{A24}==»|'Authorization': 'Basic «{A24}»'",
    "auth-header": "Authorization: token «{x40}»|authorization: «{A30}»",
    "cookie": "Set-Cookie: «sid={A40}; Path=/; HttpOnly»",
    "env-secret": "DB_PASSWORD=«{A9}!;,{A4}»|export MY_TOKEN=«{A24}»|SECRET_KEY_BASE=«{x64}»",
    "password": 'password = "«{A12}»"|"db_password": "«{A9}»"|password: «{A4}7{A6}»|pwd=«a1{A8}»;'
    '|smtpPassword := "«{A10}»"|<password>«x9{A8}»</password>|password: str = "«{A12}»"',
    "assigned-secret": 'api_key = "«{A32}»"|"client_secret": "«{A40}»"|x-api-key: «{x40}»'
    '|clientSecret: \'«{A32}»\'|https://x.test/?access_token=«{A40}»&b=1|\\"token\\": \\"«{A40}»\\"',
    "url-password": "postgresql://bob:«{A14}»@db.test/app|mongodb+srv://bob:«{A9}»@c0.test/"
    "|redis://:«{A20}»@cache:6379/0|amqp://u:«{A8}»@mq//|mssql+pyodbc://sa:«{A6}!{A6}»@h/d",
    "url-token": "git clone https://«{A40}»@git.test/a/b.git",
    "slack-webhook": "https://hooks.slack.com/services/«T{X8}/B{X8}/{A24}»",
    "discord-webhook": "https://discord.com/api/webhooks/{D18}/«{U68}»",
    "cli-flag": "mytool --password «a7{A10}» --verbose|x --db-password '«{A12}»' y"
    '|["--api-key", "«{A30}»"]',
    "basic-user": "curl -u bob:«{A12}» https://x.test|curl --user 'bob:«{A12}»' x",
    "mysql-cli": "mysql -uroot -p«{A10}» shop|mysqldump -h db -u root -p«{A10}» shop",
    "sshpass": "sshpass -p '«{A10}»' ssh me@h",
    "sql-password": "ALTER USER bob WITH PASSWORD '«{A12}»';|CREATE USER b IDENTIFIED BY '«{A9}1»';",
    "netrc": "machine h.test login bob password «{A12}»",
    "spoken-password": "the password is «{A5}4{A5}» for now",
    "private-key": "-----BEGIN RSA PRIVATE KEY-----\n{B64}\n{B64}\n{B20}=\n-----END RSA PRIVATE KEY-----"
    "|-----BEGIN OPENSSH PRIVATE KEY-----\n{B70}\n{B70}\n-----END OPENSSH PRIVATE KEY-----"
    "|-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{B64}\n=ab+d\n-----END PGP PRIVATE KEY BLOCK-----"
    "|-----BEGIN PRIVATE KEY-----\\n{B64}\\n{B64}\\n-----END PRIVATE KEY-----\\n"
    "|   1\t-----BEGIN EC PRIVATE KEY-----\n   2\t{B64}\n   3\t{B64}",
}


def made(shape: str, rng: random.Random) -> tuple[str, str, str]:
    """One value of this shape, and what stands before and after it."""
    text = re.sub(
        r"\{([A-Za-z])([0-9]+)\}",
        lambda found: "".join(rng.choices(CLASSES[found[1]], k=int(found[2]))),
        shape,
    )
    if "«" not in text:
        return "", text, ""
    before, rest = text.split("«")
    return before, *rest.split("»")  # type: ignore[return-value]


def canaries(seed: int, times: int = 1) -> Iterator[tuple[str, str, str, str]]:
    """Kind, text before, secret, text after, for every shape."""
    rng = random.Random(seed)
    for kind, shapes in SHAPES.items():
        for shape in shapes.split("|"):
            for _ in range(times):
                yield kind, *made(shape, rng)


def test_there_is_a_canary_for_every_kind() -> None:
    assert set(SHAPES) == set(BY_KIND) | {"private-key"}
    assert len(ROWS) == len(BY_KIND) >= 45


def test_a_kind_fits_into_a_mark() -> None:
    assert all(re.fullmatch("[a-z0-9-]{1,32}", row.kind) for row in ROWS)


def test_every_canary_is_seen_by_its_own_pattern_and_by_the_gate_before_it() -> None:
    for kind, before, secret, after in canaries(seed=1, times=20):
        if kind == "private-key":
            continue
        row = BY_KIND[kind]
        found = re.compile(row.pattern, re.ASCII).search(before + secret + after)
        assert found, (kind, before + secret + after)
        # the gate must not need anything outside the match: a text may be cut around it
        assert row in redact.suspects(found[0][: redact._EVIDENCE]), (kind, found[0])


def test_the_character_of_a_coarse_word_stands_in_it() -> None:
    assert all(char in word for char, word in secrets.COARSE)


def test_a_pair_is_told_by_the_end_the_gate_looks_at() -> None:
    assert all(len(word) <= 17 for row in secrets.PAIRS for word in row.literals)


def test_every_literal_of_a_plain_row_is_behind_a_coarse_word() -> None:
    for row in secrets.PLAIN:
        coarse = [word for _, word in secrets.COARSE if word in row.literals[0]]
        assert coarse
        assert all(coarse[0] in literal for literal in row.literals)


# -- the shape of the patterns, read from the parser's own tree ------------------------------------

PARSER: Any = importlib.import_module("re._parser")


def nodes(tree: Any) -> Iterator[tuple[str, Any]]:
    for name, value in tree:
        yield str(name), value
        for child in value if isinstance(value, tuple | list) else ():
            if isinstance(child, PARSER.SubPattern):
                yield from nodes(child)
            elif isinstance(child, list):
                for branch in child:
                    if isinstance(branch, PARSER.SubPattern):
                        yield from nodes(branch)


def parsed(row: Format) -> Any:
    return PARSER.parse(row.pattern, re.ASCII)


REPEATS = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind)
def test_no_repetition_is_unbounded_or_holds_another(row: Format) -> None:
    for name, value in nodes(parsed(row)):
        if name in REPEATS:
            _, most, inner = value
            assert most < 65_535
            if most > 1:
                assert not any(
                    deeper in REPEATS and repeat[1] > 1 for deeper, repeat in nodes(inner)
                )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind)
def test_no_match_is_longer_than_the_row_says(row: Format) -> None:
    assert parsed(row).getwidth()[1] <= row.longest <= redact.WINDOW - 1024


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind)
def test_no_pattern_can_take_a_line_end(row: Format) -> None:
    for name, value in nodes(parsed(row)):
        assert name not in ("ANY", "ANY_ALL")
        if name == "LITERAL":
            assert value != 10
        if name == "NOT_LITERAL":
            assert value == 10
        if name == "IN":
            assert not takes_line_end(value)


def takes_line_end(members: list[tuple[object, Any]]) -> bool:
    taken = negated = False
    for name, value in members:
        if str(name) == "NEGATE":
            negated = True
        elif str(name) == "LITERAL":
            taken |= value == 10
        elif str(name) == "RANGE":
            taken |= value[0] <= 10 <= value[1]
        else:
            taken |= str(value) in ("CATEGORY_SPACE", "CATEGORY_NOT_WORD", "CATEGORY_NOT_DIGIT")
    return taken != negated


# -- time ------------------------------------------------------------------------------------------


def hostile(row: Format, length: int) -> Iterator[str]:
    """Texts that make a pattern begin as often as possible and fail as late as possible."""
    rng = random.Random(7)
    shape = SHAPES[row.kind].split("|")[0]
    before, secret, after = made(shape, rng)
    literal = row.literals[0]
    whole = before + secret + after
    for seed in (
        literal,
        literal + "a",
        literal + "A1.",
        literal + "'",
        whole[: len(whole) * 2 // 3],
    ):
        yield (seed * (length // len(seed) + 1))[:length]
    yield literal + "a" * (length - len(literal))


@pytest.mark.timeout(60)  # a pattern that takes the square of these texts needs minutes
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind)
def test_a_hostile_text_is_read_to_its_end_and_in_order(row: Format) -> None:
    for text in hostile(row, 640_000):
        scan = redact._Scan(text, len(text), {})
        scan.row(row, 0, len(text), len(text), (-1, -1))
        places = [place for left, _, right, *_ in scan.hits for place in (left, -right)]
        assert places == sorted(places)
        assert all(0 <= place <= len(text) for place in places)
