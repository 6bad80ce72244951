"""The shapes of secrets, as data.

A format is one row: the kind written into the mark, the literals without which the pattern cannot
match, the pattern, which group is the secret, the rule its value must pass, and how long a match
can get. Adding a format is adding a row; nothing in the redactor names one.

Three tables, because the redactor has three cheap views of a text. ``RUNS``: the literal stands in,
or up to twelve bytes before, an unbroken run of at least sixteen token characters; most issued
tokens look so, and prose hardly ever does. ``PAIRS``: the literal stands in the folded text (lower
case, without blanks, quotes, digits and joiners, every separator turned into ``=``), so that
``"api_key" : `` and ``API-KEY=`` are both ``apikey=``. ``PLAIN``: the literal stands in the text as
it is; kept few and behind a coarse word each, for these are looked for in every text.

Every pattern is linear: repetitions are bounded, none is nested, and neighbours share no characters
or are possessive. No pattern crosses a line end, which is what lets a stream be cut after any line.
Lengths are wider than today's tokens, so that a longer generation is caught too.
``tests/capture/test_secrets.py`` holds every row to all of this.
"""

from __future__ import annotations


class Format:
    """One shape of secret."""

    __slots__ = ("group", "kind", "literals", "longest", "pattern", "rank", "rule")

    def __init__(
        self,
        kind: str,
        literals: str,
        pattern: str,
        group: int = 0,
        rule: str = "",
        longest: int = 600,
    ) -> None:
        self.kind = kind
        #: any one of them must be seen before the pattern is even compiled
        self.literals = tuple(literals.split("|"))
        self.pattern = pattern
        #: 0 is the whole match, -1 the last group that took part
        self.group = group
        #: name of the test on the value; empty where the shape alone is proof
        self.rule = rule
        self.longest = longest
        #: place in the tables: where two rows take the same text, the earlier one names it
        self.rank = 0


def _left(literal: str = "") -> str:
    """The literal, and what may stand before it.

    No letter or digit may, unless it ends an escape (\\n in JSON text, %3D in a URL) or a colour
    code of a terminal. Asked after the literal, which is found many times faster.
    """
    back = rf"[^\n]{{{len(literal)}}}" if literal else ""
    return (
        rf"{literal}(?:(?<![A-Za-z0-9]{back})|(?<=\\[nrtbf]{back})|(?<=%[0-9A-F]{{2}}{back})"
        rf"|(?<=[0-9\[]m{back}))"
    )


_END = r"(?![A-Za-z0-9])"
_URLSAFE = "[A-Za-z0-9_-]"
_ALNUM = "[A-Za-z0-9]"

# kind, literals, pattern, and the longest match where it is above the usual
_TOKENS = r"""
anthropic             sk-ant-               sk-ant-@url{16,512}
openrouter            sk-or-                @left@sk-or-v[0-9]-@alnum{32,128}
langfuse              sk-lf-                @left@sk-lf-[0-9a-f-]{32,64}
github-pat            github_pat_           github_pat_[A-Za-z0-9_]{22,255}
aws-access-key        AKIA|ASIA|ABIA|ACCA   @left@A(?:KI|SI|BI|CC)A[A-Z0-9]{16}@end
google-api-key        AIza                  AIza@url{30,64}
google-oauth          ya29.                 ya29\.@url{20,2048}                               2100
google-client-secret  GOCSPX-               GOCSPX-@url{20,64}
google-refresh-token  1//0                  @left@1//0@url{30,256}
slack                 xox                   xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{12,512}
slack-app             xapp-                 @left@xapp-[0-9]-[A-Za-z0-9-]{20,256}
stripe                k_live_|k_test_       @left@[sr]k_(?:live|test)_[A-Za-z0-9_]{16,256}
webhook-secret        whsec_                whsec_[A-Za-z0-9+/=_-]{24,256}
sendgrid              SG.                   @left@SG\.@url{16,32}\.@url{30,64}
mailgun               key-                  @left@(?:pub)?key-[0-9a-f]{32}@end
mailchimp             -us                   @left@[0-9a-f]{32}-us[0-9]{1,2}@end
npm                   npm_                  @left@npm_@alnum{30,128}
pypi                  pypi-Ag               pypi-Ag@url{48,2048}                              2100
huggingface           hf_|api_org_          @left@(?:hf|api_org)_@alnum{30,128}
digitalocean          dop_v1_|doo_v1_|dor_v1_  do[opr]_v1_@alnum{40,128}
shopify  shpat_|shpca_|shppa_|shpss_|shpua_|shptka_  shp(?:at|ca|pa|ss|ua|tka)_@alnum{30,128}
telegram              :AA                   (?<![0-9])[0-9]{7,12}:AA@url{30,64}
databricks            dapi                  @left@dapi[0-9a-f]{32}(?:-[0-9]{1,2})?@end
vault                 hvs.|hvb.|hvr.        @left@hv[sbr]\.@url{20,1024}                      1100
docker                dckr_pat_|dckr_oat_   dckr_[po]at_@url{20,128}
linear                lin_api_|lin_oauth_   lin_(?:api|oauth)_@alnum{30,128}
notion                ntn_|secret_          @left@(?:ntn_@alnum{40,64}|secret_@alnum{43})@end
groq                  gsk_                  @left@gsk_@alnum{40,128}
xai                   xai-                  @left@xai-@alnum{60,128}
replicate             r8_                   @left@r8_@alnum{30,128}
perplexity            pplx-                 @left@pplx-@alnum{30,128}
supabase              sbp_                  @left@sbp_(?:v[0-9]_|oauth_)?[0-9a-f]{40,64}
supabase-secret       sb_secret_            sb_secret_@url{20,128}
atlassian             ATATT|ATCTT           @left@AT[AC]TT3[A-Za-z0-9_=-]{50,512}
bitbucket             ATBB                  @left@ATBB@alnum{28,64}@end
age                   AGE-SECRET-KEY-       AGE-SECRET-KEY-[A-Z0-9-]{50,256}
newrelic              NRAK-                 NRAK-[A-Z0-9]{24,64}
grafana               glsa_|glc_            @left@gl(?:sa|c)_[A-Za-z0-9_+/=]{32,512}
doppler               dp.                   @left@dp\.(?:pt|ct|sa|scim|audit)\.@alnum{40,64}
planetscale  pscale_  pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_-]{16}[A-Za-z0-9_.-]{14,112}
fly                   fm1r_|fm1a_|fm2_      @left@fm(?:1[ar]|2)_[A-Za-z0-9+/=_-]{80,2048}     2100
postman               PMAK-                 PMAK-[0-9a-f]{24}-[0-9a-f]{34}
sentry                sntrys_|sntryu_       sntry[su]_[A-Za-z0-9+/=_]{40,1024}                1100
pulumi                pul-                  @left@pul-[0-9a-f]{40}@end
terraform             .atlasv1.             @alnum{14}\.atlasv1\.@url{60,128}
square                sq0                   @left@sq0[a-z]{3}-@url{22,64}
facebook              EAA                   @left@EAA[A-Z]@alnum{80,512}
figma                 figd_|figu_           fig[du]_@url{36,128}
rubygems              rubygems_             rubygems_[0-9a-f]{40,64}
1password             ops_ey                ops_ey[A-Za-z0-9+/=_-]{100,4096}                  4200
contentful            CFPAT-                CFPAT-@url{40,64}
langsmith             lsv2_                 lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{8,12}
pinecone              pcsk_                 pcsk_[A-Za-z0-9_]{40,128}
tavily                tvly-                 @left@tvly-(?:dev-|prod-)?@alnum{28,64}
nvidia                nvapi-                nvapi-@url{50,128}
sonar                 sqp_|squ_|sqa_        @left@sq[pua]_[0-9a-f]{40}@end
e2b                   e2b_                  @left@e2b_[0-9a-f]{40}@end
alibaba               LTAI                  @left@LTAI@alnum{16,28}@end
mapbox                sk.eyJ                @left@sk\.eyJ@url{40,256}\.@url{16,64}
dynatrace             dt0                   dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}
"""


def _token(line: str) -> Format:
    kind, literals, pattern, *longest = line.split()
    if pattern.startswith("@left@"):
        rest = pattern.removeprefix("@left@")
        size = next(at for at, char in enumerate(rest) if not char.isalnum() and char not in "_-/")
        pattern = _left(rest[:size]) + rest[size:]
    for name, source in (("@end", _END), ("@url", _URLSAFE), ("@alnum", _ALNUM)):
        pattern = pattern.replace(name, source)
    return Format(kind, literals, pattern, longest=int(longest[0]) if longest else 600)


RUNS: tuple[Format, ...] = (
    *map(_token, _TOKENS.strip().splitlines()),
    Format(
        "openai",
        "sk-",
        rf"{_left('sk-')}(?:(?:proj|svcacct|admin|service|None)-{_URLSAFE}{{20,512}}"
        rf"|{_ALNUM}{{20}}T3BlbkFJ{_ALNUM}{{10,64}}|{_ALNUM}{{32,256}})",
    ),
    Format(
        "github",
        "ghp_|gho_|ghu_|ghs_|ghr_",
        rf"gh[pousr]_{_URLSAFE}{{30,1024}}+(?:\.{_URLSAFE}{{16,2048}}+)?"
        rf"(?:\.{_URLSAFE}{{16,1024}}+)?",
        longest=4200,
    ),
    Format(
        "gitlab",
        "glpat-|gloas-|gldt-|glrt-|glrtr-|glcbt-|glptt-|glft-|glimt-|glagent-|glsoat-|glffct-|glwt-"
        "|GR1348941",
        r"(?:gl(?:pat|oas|dt|rtr?|cbt|ptt|ft|imt|agent|soat|ffct|wt)-|GR1348941)"
        rf"{_URLSAFE}{{20,300}}+(?:\.[0-9a-z]{{2,16}})?(?:\.[0-9a-z]{{7,16}})?",
    ),
    Format(
        "jwt",
        "eyJ",
        rf"{_left('eyJ')}{_URLSAFE}{{13,4096}}+\.{_URLSAFE}{{4,16384}}+\.{_URLSAFE}{{4,4096}}+"
        rf"(?:\.{_URLSAFE}{{4,4096}}+)?(?:\.{_URLSAFE}{{4,64}}+)?",
        longest=28_800,
    ),
    Format(
        "bearer",
        "earer ",
        r"[Bb]earer[ ]{1,2}((?=[A-Za-z0-9_+/=-]{16})[A-Za-z0-9._~+/=-]{16,4096})",
        1,
        "token",
        4200,
    ),
)

# Formats known only by two dots: a run, a dot, and a further run nine characters on.
DOTTED: tuple[Format, ...] = (
    Format(
        "discord",
        ".",
        rf"{_left()}(?<![_-])[MNO]{_URLSAFE}{{23,27}}\.{_URLSAFE}{{6,7}}\.{_URLSAFE}{{27,64}}",
    ),
    Format("airtable", ".", rf"{_left('pat')}{_ALNUM}{{14}}\.[0-9a-f]{{64}}{_END}"),
)

# Between a name and its value: closing quotes, blanks, perhaps a type, one separator, blanks.
_GAP = r"""["'`\]\\]{0,4}[ \t]{0,8}"""
_TYPED = r"""(?::[ \t]?&?[A-Za-z_.\[\]|]{1,40}[ \t]?(?==))?+"""
_IS = rf"{_GAP}{_TYPED}(?::=|=>|:|={{1,3}}|>)[ \t]{{0,8}}"
_QUOTE = r"""\\{0,3}["']?"""
_WORD = r"""[^\s"'`\\<>(){}\[\]"""
_BARE = r"""[^\s"'`,;&<>(){}\[\]|\\="""


def _value(least: int) -> str:
    """What is assigned, with or without quotes; shorter ones no rule would take."""
    quoted, escaped = f"{{{least},2048}}", f"{{{(least + 1) // 2},2048}}"
    return (
        rf"""(?:[bruBRU@]?(?:\\{{1,3}}"([^"\\\n]{quoted})|\\{{1,3}}'([^'\\\n]{quoted})"""
        rf"""|`([^`\n]{quoted})|"((?:[^"\\\n]|\\[^\n]){escaped})|'((?:[^'\\\n]|\\[^\n]){escaped}))"""
        # names with a colon each would make every value as long as the rest of the text
        rf"""|((?={_BARE}]{{{least}}}){_BARE}:]{{0,2048}}+(?::{_BARE}:]{{0,1024}}+)?"""
        rf"""(?::{_BARE}]{{0,256}}+)?={{0,2}}))"""
    )


def _any_case(names: str) -> str:
    """The names in any case; the first letter apart, for classes are passed over faster."""
    rest: dict[str, list[str]] = {}
    for name in names.split():
        rest.setdefault(name[0], []).append(name[1:])
    each = (f"[{first}{first.upper()}](?i:{'|'.join(rest[first])})" for first in rest)
    return f"(?:{'|'.join(each)})[0-9]{{0,3}}"


_KEYS = "api|app|access|secret|private|auth|signing|encryption|master|shared|account"
_LOGIN_NAME = _any_case("pass(?:word|wd|phrase|code|wort) p(?<![a-z]p)ass pwd")
_NAME = _any_case(
    "secret token credentials? secret[_.-]?key[_.-]?base a(?<=[_-]a)uth "
    + " ".join(f"{word}[_.@-]?key" for word in _KEYS.split("|"))
).replace("@", " ")
_LOGIN_PAIRS = "password=|passwd=|passphrase=|passcode=|passwort=|pass=|pwd="
_PAIRS = "secret=|token=|credential=|credentials=|secretkeybase=|auth=|"
_PAIRS += "|".join(f"{word}key=" for word in _KEYS.split("|"))

PAIRS: tuple[Format, ...] = (
    Format(
        "aws-secret-key",
        "secretaccesskey=|secretkey=|awssecret=",
        rf"(?:[sS](?i:ecret[_. -]?(?:access[_. -]?)?key)|[aA](?i:ws[_. -]?secret)){_IS}{_QUOTE}"
        r"([A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])",
        1,
        "token",
    ),
    Format(
        "aws-session-token",
        "sessiontoken=|securitytoken=",
        rf"[sS](?i:e(?:ssion|curity)[_. -]?token){_IS}{_QUOTE}([A-Za-z0-9+/=%_-]{{80,4096}})",
        1,
        longest=4300,
    ),
    Format(
        "azure-account-key", "accountkey=", r"[aA](?i:ccountKey)=([A-Za-z0-9+/]{40,100}={0,2})", 1
    ),
    Format(
        "azure-sas", "sig=", r"(?<![A-Za-z0-9])sig=([A-Za-z0-9%+/_-]{30,256}+={0,2})", 1, "token"
    ),
    Format(
        "signed-url",
        "signature=",
        r"(?:[xX](?i:-(?:Amz|Goog)-Signature)|[?&](?i:Signature))=([A-Za-z0-9%+/_~-]{30,1024}+={0,2})",
        1,
        longest=1100,
    ),
    Format("twilio", "sid=", rf"[sS](?i:id){_IS}{_QUOTE}((?:AC|SK)[0-9a-f]{{32}})(?![0-9a-f])", 1),
    Format(
        "basic-auth",
        "authorization=",
        rf"[aA](?i:uthorization){_IS}{_QUOTE}(?i:Basic)[ ]{{1,2}}([A-Za-z0-9+/=_-]{{6,1024}})",
        1,
        longest=1200,
    ),
    Format(
        "auth-header",
        "authorization=",
        rf"[aA](?i:uthorization){_IS}{_QUOTE}"
        r"(?:(?i:Bearer|Token|ApiKey|Digest|Key|SharedKey)[ ]{1,2})?([A-Za-z0-9._~+/-]{8,4096}+={0,2})",
        1,
        "token",
        4300,
    ),
    Format(
        "cookie",
        "cookie=",
        # up to the next cookie, or each would be read to the end of the last
        r"""[cC](?i:ookie)["']?:[ ]{0,2}["']?(?=[^\s"'\\])"""
        r"""((?:[^\n"'\\cC]|[cC](?!(?i:ookie)["']?:)){16,4096})""",
        1,
        "cookie",
        4200,
    ),
    Format(
        "env-secret",
        f"{_LOGIN_PAIRS}|{_PAIRS}",
        r"(?:PASS(?:WORD|WD|PHRASE|CODE|WORT)?|PWD|SECRET|TOKEN|CREDENTIALS?|SECRET_KEY_BASE|_AUTH"
        rf"|(?:{_KEYS.upper()})_?KEY)"
        rf"""[0-9]{{0,3}}=(?!\$)((?={_WORD}]{{4}}){_WORD}=]{{0,512}}+(?:={_WORD}=]{{0,512}}+)?"""
        rf"""(?:={_WORD}]{{0,256}}+)?)""",
        1,
        "env",
        1400,
    ),
    Format("password", _LOGIN_PAIRS, rf"{_LOGIN_NAME}{_IS}{_value(4)}", -1, "password", 4300),
    Format("assigned-secret", _PAIRS, rf"{_NAME}{_IS}{_value(6)}", -1, "token", 4300),
)

# Every literal of a row of PLAIN holds one of these words; where none stands, no row is looked at.
# Its character comes first, for a single character is found several times faster.
COARSE = ((":", "://"), ("-", "--"), ("-", " -"), ("'", " '"), ("w", "assword "), ("~", "Q~"))
PLAIN: tuple[Format, ...] = (
    Format(
        "url-password",
        "://",
        r"""://[^\s/:@"'`<>\[\]]{0,128}+:([^\s/"'`<>\[\]\\]{1,256})(?=@[A-Za-z0-9\[$%{_-])""",
        1,
        "url",
    ),
    Format("url-token", "://", rf"://({_URLSAFE}{{20,255}})(?=@)", 1, "token"),
    Format(
        "slack-webhook",
        "://hooks.slack",
        r"://hooks\.slack(?:-gov)?\.com/[a-z]{4,16}/([A-Za-z0-9/_+-]{20,200})",
        1,
    ),
    Format(
        "discord-webhook",
        "://",
        r"://(?:[a-z]{2,8}\.)?discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{15,24}/"
        rf"({_URLSAFE}{{40,128}})",
        1,
    ),
    Format(
        "cli-flag",
        "--",
        r"--(?:[a-z0-9]{1,16}-)?(?:[a-z0-9]{1,16}-)?(?:pass(?:word|wd|phrase)?|pwd|secret|token"
        r"|(?:api|access|secret|private|auth)-?key)(?:[\"'],)?[ \t]{1,4}"
        r"""(?:"([^"\\\n]{1,512})|'([^'\\\n]{1,512})"""
        r"""|([^\s"'`<>(){}\[\]|\\$;&-][^\s"'`<>(){}\[\]|\\;&]{3,512}))""",
        -1,
        "flag",
    ),
    Format(
        "basic-user",
        " -u| --user",
        r""" -(?:u|-user)[ =]{0,2}["']?[^\s:"'/@]{1,64}+:([^\s:"'/@$\\][^\s"'\\]{2,256})""",
        1,
        "user",
    ),
    Format(
        "mysql-cli",
        " -p",
        r"""mysql(?:dump|admin|sh)? (?:[^\n|;]{0,80}? )?-p([^\s"'$<-][^\s"'<]{2,64})""",
        1,
        "user",
    ),
    Format("sshpass", "sshpass -p", r"""sshpass -p[ ]?["']?([^\s"'$<][^\s"'<]{2,128})""", 1, "url"),
    Format(
        "sql-password",
        "PASSWORD '|password '|BY '|by '",
        r"(?:PASSWORD|password|IDENTIFIED BY|identified by) '([^'\n]{4,128})(?=')",
        1,
        "password",
    ),
    Format(
        "netrc",
        "password ",
        r"(?:machine[ \t]{1,4}[^\s]{1,128}|default)[ \t]{1,16}login[ \t]{1,4}[^\s]{1,64}[ \t]{1,4}"
        r"""password [ \t]{0,4}["']?([^\s"']{3,256})""",
        1,
        "url",
    ),
    Format(
        "spoken-password",
        "assword is |assword was ",
        r"""[Pp]assword (?:is|was) ["'`]?([^\s"'`<>(){}\[\]|\\]{6,128})""",
        1,
        "spoken",
    ),
    Format("azure-client-secret", "Q~", r"[\w~.-]{3}[0-9]Q~[\w~.-]{31,34}"),
)

for _rank, _row in enumerate((*RUNS, *DOTTED, *PAIRS, *PLAIN)):
    _row.rank = _rank

# Files whose content is never kept, by the end of their path (lower case, forward slashes).
_FILES = r"""
(?:[^/]*[-_])?\.env(?:\.[^/]+)? (?!process|meta|import|deno|bun|this|self|os)[a-z0-9_-]+\.env
\.envrc [^/]*\.(?:pem|p12|pfx|p8|pkcs12|jks|keystore|kdbx?|ppk|agekey|tfstate|tfstate\.backup|tfvars)
[^/]+\.key id_(?:rsa|dsa|ecdsa|ed25519|xmss)[^/.]* \.ssh/[^/]+ [._]netrc \.pgpass \.my\.cnf
\.npmrc \.pypirc \.git-credentials \.htpasswd \.dockercfg \.docker/config\.json \.s3cfg \.boto
\.aws/(?:credentials|sso/cache/[^/]+) \.kube/config kubeconfig[^/]* \.vault-token \.terraformrc
secrets?\.(?:ya?ml|json|toml|env|ini|txt) (?:[^/]*[-_])?service[-_]?account[^/]*\.json
(?:[^/]*[-_.])?credentials?(?:\.json|\.ya?ml|\.toml|\.ini|\.csv|\.db|\.txt)
client_secret[^/]*\.json \.(?:cargo|gem)/credentials \.config/gh/hosts\.yml \.codex/auth\.json
\.azure/[^/]*token[^/]*\.json etc/g?shadow wallet\.dat \.password-store/.+ \.gnupg/.+ secring\.gpg
"""
DENIED = rf"(?:^|[/:@])(?:{'|'.join(_FILES.split())})(?::[0-9]+){{0,2}}$"

# ... except these, which are made to be shown.
PUBLIC = (
    r"\.(?:example|sample|template|tmpl|dist|pub)$"
    r"|\.ssh/(?:config|known_hosts[^/]*|authorized_keys[^/]*)$|cacert\.pem$"
)
