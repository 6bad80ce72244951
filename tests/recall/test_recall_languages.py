"""Any language, with accents or without, and names out of code by their parts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import holdfast
from tests.recall.replays import Ticking, ids

Holdfast = holdfast.Holdfast

#: what was said, and questions that mean it
SAID: dict[str, tuple[str, ...]] = {
    "我们决定使用数据库分片来扩展系统": ("数据库分片", "为什么使用分片", "扩展系统"),
    "部署脚本在星期五失败了": ("部署失败", "星期五"),
    "認証トークンの有効期限は十五分です": ("トークンの有効期限", "認証"),
    "アップロードが途中で切れる": ("アップロード", "途中で切れる"),
    "배포는 금요일마다 진행합니다": ("배포", "금요일"),
    "데이터베이스를 이전했습니다": ("데이터베이스", "이전"),
    "Nous avons choisi le café du déploiement": ("cafe deploiement", "café", "déploiement"),
    "the naive resume parser is slow": ("naïve résumé",),
    "Größe der Schlüssel ist geändert": ("grosse schlussel", "Größe", "geändert"),
    "Мы решили использовать очередь сообщений": ("очередь сообщений", "ОЧЕРЕДЬ"),
    "قررنا استخدام قاعدة بيانات جديدة": ("قاعدة بيانات", "استخدام"),
    "החלטנו לשמור את הקבצים בענן": ("הקבצים בענן",),
    "เราตัดสินใจใช้คิวข้อความ": ("คิวข้อความ",),
    "हमने नया सर्वर चुना": ("नया सर्वर",),
    "Çağrı İstanbul sunucusuna taşındı": ("istanbul sunucusuna", "İSTANBUL"),
    "call parseJsonFile before anything else": ("json file", "parse json", "parseJsonFile"),
    "the bug is in get_user_id when null": ("user id", "get_user_id", "getUserId"),
    "see src/auth/loginHandler.ts for details": (
        "login handler",
        "auth/loginHandler.ts",
        "src/auth",
    ),
    "the client reported ERR_CONN_REFUSED twice": ("ERR_CONN_REFUSED", "conn refused"),
    "compiler says TS2345 about arguments": ("TS2345", "ts2345"),
    "XMLHttpRequest was replaced by fetch": ("http request", "xml", "XMLHttpRequest"),
    "pinned numpy==2.1.3 in the lock": ("numpy 2.1.3", "2.1.3"),
    "the C++ service crashed with SIGSEGV": ("c++", "sigsegv"),
    "commit 9f8e7d6 broke kebab-case-name": ("9f8e7d6", "kebab case"),
}
CASES = [(said, query) for said, queries in SAID.items() for query in queries]


@pytest.fixture(scope="module", params=["none", "static"])
def told(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Holdfast, dict[str, str]]]:
    """All of it said, each in a session of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
        patch.setenv("HOLDFAST_EMBEDDER", request.param)
        home = tmp_path_factory.mktemp("home")
        with holdfast.open(home, project="p", user="ana", now=Ticking()) as hf:
            yield (
                hf,
                {
                    said: hf.session(agent="coder", session_id=f"s{n}").user(said).event_id
                    for n, said in enumerate(SAID)
                },
            )


@pytest.mark.parametrize(("said", "query"), CASES)
def test_it_is_found_first_in_its_own_words(
    told: tuple[Holdfast, dict[str, str]], said: str, query: str
) -> None:
    hf, named = told
    found = hf.recall(query)
    assert ids(found)[:1] == [named[said]], [hit.text for hit in found]


def test_the_slow_embedder_finds_by_meaning(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime")
    monkeypatch.setenv("HOLDFAST_EMBEDDER", "minilm")
    home = tmp_path_factory.mktemp("home")
    with holdfast.open(home, project="p", user="ana", now=Ticking()) as hf:
        for text in ("The cat sat on the mat", "We eat lunch at noon", "Payments failed on Monday"):
            hf.remember(text)
        wanted = hf.remember("Our physician prescribed new medicine").id
        hf.index()
        found = hf.recall("doctor", min_relevance=0)
        assert found[0].id == wanted
        assert found.notices == ()
