"""The site of the pages: what breaks its build, and how it is in a real browser, opened from a disk."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.axe import find_violations
from tests.chromium import chromium
from tests.docs.pages import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

_AUDIT = """(() => {
  const said = [], tell = (what, element) => said.push(`${what}: ${element.outerHTML.slice(0, 160)}`);
  const named = (element) => (element.getAttribute('aria-label') || element.title || element.innerText
    || element.textContent || element.placeholder || '').trim()
    || [...element.querySelectorAll('img')].some((image) => image.alt);
  if (!document.documentElement.lang) said.push('no language');
  if (!document.title.trim()) said.push('no title');
  const headings = [...document.querySelectorAll('article :is(h1, h2, h3, h4, h5, h6)')];
  const levels = headings.map((heading) => Number(heading.tagName[1]));
  if (levels.filter((level) => level === 1).length !== 1 || levels[0] !== 1) said.push(`headings ${levels}`);
  levels.forEach((level, at) => {
    if (at && level > levels[at - 1] + 1) tell('a level is left out', headings[at]);
  });
  for (const image of document.querySelectorAll('img')) {
    if (!image.alt.trim()) tell('no alternative text', image);
    if (!image.naturalWidth) tell('not shown', image);
  }
  const hidden = (element) => getComputedStyle(element).display === 'none';
  for (const field of document.querySelectorAll('input:not([type=hidden]), select, textarea'))
    if (!named(field) && !field.labels.length && !hidden(field)) tell('no label', field);
  for (const control of document.querySelectorAll('a[href], button'))
    if (!named(control)) tell('no name', control);
  for (const table of document.querySelectorAll('article table'))
    if (!table.querySelector('th')) tell('no headings', table);
  const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
  for (const id of ids.filter((id, at) => ids.indexOf(id) !== at)) said.push(`id ${id} is there twice`);
  if (document.documentElement.scrollWidth > innerWidth) said.push('wider than the window');
  for (const {name} of performance.getEntriesByType('resource'))
    if (!name.startsWith('file:') && !name.startsWith('data:')) said.push(`fetched ${name}`);
  const shown = [...document.querySelectorAll('article')].map((article) => article.innerText).join('');
  if (shown.includes('```')) said.push('a fence is shown as text');
  return {title: document.title, said};
})()"""
_GROUND = "getComputedStyle(document.querySelector('.md-header')).backgroundColor"
"""The band of our palette, which is that of the header of all our pages."""
_FOCUS = "document.querySelector('.md-search__input').focus()"
_FOUND = """[...document.querySelectorAll('.md-search-result__link')]
  .some((link) => link.href.includes('glossary.html'))"""


def build(project: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """What ``make docs`` does: it needs what that installs."""
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(site)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=240
    )


def test_what_leads_nowhere_fails_the_build(tmp_path: Path) -> None:
    """A link, an anchor and a picture: each is named. Without them the pages build, and are in the nav."""
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    configuration = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    nav = "\nnav:\n  - Reference:\n      - faults.md\n\n"
    (tmp_path / "mkdocs.yml").write_text(re.sub(r"\nnav:\n.*?\n\n", nav, configuration, flags=re.DOTALL))
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "faults.md").write_text("# Faults\n")
    (docs / "added.md").write_text(
        "# Added\n\n[page](nowhere.md) [heading](faults.md#no-such-heading) ![picture](pictures/none.svg)\n"
    )
    broken = build(tmp_path, tmp_path / "site")
    assert broken.returncode != 0
    for said in ("nowhere.md", "no-such-heading", "pictures/none.svg"):
        assert f"'{said}" in broken.stderr or f"#{said}" in broken.stderr
    (docs / "added.md").write_text("<!-- slow: it waits -->\n# Added by RabbitMQ\n")
    assert build(tmp_path, tmp_path / "site").returncode == 0
    shown = (tmp_path / "site/faults.html").read_text()
    assert re.search(r'href="added.html"[^<]*(<[^<]*)*?Added by RabbitMQ', shown), (
        "it is not in the navigation"
    )


@pytest.mark.browser
def test_every_page_can_be_read_by_everybody_without_a_network(tmp_path: Path) -> None:
    """Each page in Chromium: language, title, headings, pictures in words, names; and search finds."""
    built = build(ROOT, tmp_path / "site")
    assert built.returncode == 0, built.stderr
    pages = sorted(path for path in (tmp_path / "site").rglob("*.html") if path.name != "404.html")
    assert len(pages) == len([*(ROOT / "docs").rglob("*.md")])
    titles, said = set(), {}
    with chromium(tmp_path / "profile") as tab:
        tab.size(1400, 900)
        for page in pages:
            tab.open(page.as_uri())
            found = tab.eval(_AUDIT)
            titles.add(found["title"])
            if found["said"]:
                said[page.name] = found["said"]
        assert said == {}
        assert len(titles) == len(pages), "two pages have one title"
        for preferred, scheme in (("dark", "slate"), ("light", "default"), ("dark", "slate")):
            tab.prefer(prefers_color_scheme=preferred)
            tab.open(pages[0].as_uri())
            assert tab.eval("document.body.getAttribute('data-md-color-scheme')") == scheme
            assert [each for each in find_violations(tab) if each[1] in {"serious", "critical"}] == []
            assert tab.eval(_GROUND) == {"slate": "rgb(26, 33, 42)", "default": "rgb(241, 244, 247)"}[scheme]
        tab.call("Emulation.setFocusEmulationEnabled", enabled=True)
        tab.eval(_FOCUS)
        tab.call("Input.insertText", text="conflation")
        tab.wait(_FOUND)
