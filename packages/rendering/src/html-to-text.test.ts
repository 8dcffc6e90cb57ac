import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce } from "@tidings/runtime/long-work";
import fc from "fast-check";
import { htmlLinks } from "./html-links.ts";
import { htmlToText } from "./html-to-text.ts";

test("blocks are lines, paragraphs have a blank line between them, links show their address", () => {
  const html = `<!doctype html><html><head><title>No</title><style>p{color:red}</style></head><body>
    <h1>Hello   {contactfield=firstname|you}</h1><p>One &amp; two<br>three <b>four</b>.</p><div>A</div><div>B</div>
    <ul><li>First<li>Second</ul><p><a href="https://www.example/?a=1&amp;b=2">Read</a> or <a href="{unsubscribe_url}">leave</a></p>
    <p><a href="https://www.example/">https://www.example/</a> <a href="#top">up</a></p><img src="x" alt="A cat">
    <table><tr><td>1</td><td>2</td></tr></table><script>no()</script></body></html>`;
  assert.equal(
    atOnce(htmlToText(html)),
    `Hello {contactfield=firstname|you}

One & two
three four.

A
B

* First
* Second

Read (https://www.example/?a=1&b=2) or leave ({unsubscribe_url})

https://www.example/ up

A cat

1 2`,
  );
});

test("links to mail addresses and telephone numbers show these without their scheme, and once", () => {
  const html = `<a href="mailto:help@shop.example">Write</a> or <a href="tel:+4312345">call</a>,
    <a href="mailto:help@shop.example">help@shop.example</a> <a href="javascript:alert(1)">no</a>`;
  assert.equal(
    atOnce(htmlToText(html)),
    "Write (help@shop.example) or call (+4312345), help@shop.example no",
  );
});

test("links are found with what a browser follows, and where it stands", () => {
  const html = `<a HREF="https://a.example/?x=1&amp;copy=2&copy=3" href="https://no.example">a</a><AREA href=https://b.example/>
    <a name=x>no</a><a href='{pagelink=3}' data-x="1" hidden>c</a><!-- <a href="no"> --><script>"<a href='no'>"</script><b href="no">`;
  const links = atOnce(htmlLinks(html));
  assert.deepEqual(
    links.map(({ address }) => address),
    ["https://a.example/?x=1&copy=2&copy=3", "https://b.example/", "{pagelink=3}"],
  );
  assert.deepEqual(
    links.map(({ start, end }) => html.slice(start, end)),
    ["https://a.example/?x=1&amp;copy=2&copy=3", "https://b.example/", "{pagelink=3}"],
  );
  assert.deepEqual(
    [...(links[2]?.attributes ?? [])],
    [
      ["href", "{pagelink=3}"],
      ["data-x", "1"],
      ["hidden", ""],
    ],
  );
});

test("a long text is read as a short one is, wherever it is parted", () => {
  const count = 20_000;
  const word = (index: number) =>
    `<a href="https://a.example/?n=${index}&amp;x=1">A &amp; ${index}</a> &auml;b `;
  const html = Array.from({ length: count }, (_, index) => word(index)).join("");
  const links = atOnce(htmlLinks(html));
  assert.equal(links.length, count);
  for (const [index, { address, start, end }] of links.entries()) {
    assert.equal(address, `https://a.example/?n=${index}&x=1`);
    assert.equal(html.slice(start, end), `https://a.example/?n=${index}&amp;x=1`);
  }
  const lines = atOnce(htmlToText(html)).split("\n").join(" ");
  const shown = (index: number) => `A & ${index} (https://a.example/?n=${index}&x=1) äb`;
  assert.equal(lines, Array.from({ length: count }, (_, index) => shown(index)).join(" "));
});

test("any text is read, and text without markup stays", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
      atOnce(htmlToText(text));
      for (const { start, end } of atOnce(htmlLinks(text))) assert.ok(start <= end && end <= text.length);
    }),
  );
  assert.equal(atOnce(htmlToText("Just words & more")), "Just words & more");
});

test("the time grows with the length of a hostile text, not with its square", () => {
  for (const piece of [
    "<div>",
    "</div>",
    "<a href='x'>",
    "<p>",
    "&",
    "<",
    "<a b",
    "<head>",
    "{",
    "<li>",
    "<a href='https://x.example'>y",
  ]) {
    const text = piece.repeat(1_000_000 / piece.length);
    const startedAt = process.cpuUsage();
    atOnce(htmlToText(text));
    atOnce(htmlLinks(text));
    const { user } = process.cpuUsage(startedAt);
    // The square takes minutes.
    assert.ok(user < 10_000_000, `${piece}: ${user / 1_000} ms`);
  }
});
