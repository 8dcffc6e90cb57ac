import assert from "node:assert/strict";
import { test } from "node:test";
import { html } from "@tidings/runtime/html";
import fc from "fast-check";
import { type DefaultTreeAdapterTypes, defaultTreeAdapter, parse } from "parse5";
import { compileHtml } from "./compile-template.ts";
import { TemplateError } from "./template-error.ts";
import { names, valuesOf } from "./test-values.ts";

const HOSTILE = `<b a='1'>&"\``;
const ESCAPED = "&lt;b a=&#39;1&#39;&gt;&amp;&quot;`";
const UNQUOTED = "&lt;b&#32;a&#61;&#39;1&#39;&gt;&amp;&quot;&#96;";
const ENCODED = "%3Cb%20a%3D&#39;1&#39;%3E%26%22%60";

/** Renders a template in which § stands for a token. */
async function render(template: string, value: string): Promise<string> {
  const { render } = await compileHtml(template.replaceAll("§", "{contactfield=a}"), names);
  return render(valuesOf({ a: value }));
}

for (const [place, template, expected] of [
  ["text", "<p>§</p>§", ESCAPED],
  ["text without tags", "§ and §", ESCAPED],
  ["text of a table", "<table>§<tr><td>§</table>", ESCAPED],
  ["text of a select", "<select><option>§</select>", ESCAPED],
  ["text of noscript", "<noscript><p>§</noscript>", ESCAPED],
  ["text of an HTML template", "<template><p>§<template>§</template></template>", ESCAPED],
  ["a title", "<title>§</title><body>§", ESCAPED],
  ["a textarea", "<textarea><p>§</textarea>", ESCAPED],
  ["text in SVG", "<svg><title>§</title><text>§</text></svg>", ESCAPED],
  ["a double-quoted attribute", '<p title="§">', ESCAPED],
  ["a single-quoted attribute", "<p title = '§'>", ESCAPED],
  [
    "an attribute after line breaks and letters of two units",
    '\r\n\r\n😀<p a="x>"\r\ntitle="😀\r\n§">',
    ESCAPED,
  ],
  ["an attribute with a name that begins with an equals sign", '<p =x="§">', ESCAPED],
  ["an unquoted attribute", "<p title=§ id=x>", UNQUOTED],
  ["a part of an unquoted attribute", "<p title=x/§/y>", UNQUOTED],
  ["an unquoted attribute whose quote stands after a no-break space", '<p title=\u00a0"§">', UNQUOTED],
  ["an attribute of a second body tag", '<p><body class="§">', UNQUOTED],
  ["the path of a URL", '<a href="/x/§">', ENCODED],
  ["the query of a URL", '<a href="https://x.test?q=§&amp;r=§#§">', ENCODED],
  ["a URL without a scheme", '<a href="x§">', ENCODED],
  ["the name of a host", '<img src="https://§.test/">', ENCODED],
  ["an unquoted URL", "<a href=/x/§>", ENCODED],
  ["a URL of SVG", '<svg><a xlink:href="/x/§"/></svg>', ENCODED],
  ["a list of URLs", '<img srcset="/a?§ 1x, /b/§ 2x">', ENCODED],
  ["the query of a script's URL", '<script src="/x?q=§"></script>', ENCODED],
])
  test(`a value is escaped in ${place}`, async () =>
    assert.equal(await render(template as string, HOSTILE), template?.replaceAll("§", expected as string)));

for (const [place, template] of [
  ["a script", "<script>let a = '§';</script>"],
  ["a script that hides an end tag", "<script><!--<script>§</script>§</script>"],
  ["a script of SVG", "<svg><script>§</script></svg>"],
  ["a script after SVG that was left", "<svg><title/><p><script>§</script>"],
  ["an event handler", '<p onclick="§" ONLOAD=x§>'],
  ["a document in an attribute", '<iframe srcdoc="§"></iframe>'],
  ["a comment", "<!-- § --><!§><?§>"],
  ["an open comment", "<!-- §"],
  ["a doctype", "<!doctype §>"],
  ["a tag name", "<§></§>"],
  ["a part of a tag name", "<p§ a></p§><§p>"],
  ["an attribute name", "<p § a§=b §=c>"],
  ["a second attribute of one name", '<p id=x id="§">'],
  ["an end tag", "<p></p §>"],
  ["an open tag", '<p title="§'],
  ["an iframe's old text", "<iframe>§</iframe>"],
  ["raw text", "<xmp>§</xmp><noembed>§</noembed><noframes>§</noframes>"],
  ["plain text to the end", "<plaintext>§"],
  ["a refresh", '<meta http-equiv=refresh content="0;url=§">'],
  ["the header that a meta tag replaces", '<meta http-equiv="§" content="§">'],
  [
    "the URL of a script",
    '<script src="§"></script><script src="https://§/"></script><script src="/§.js"></script>',
  ],
  ["the URL of a base", '<base href="§">'],
  ["the URL of a stylesheet", '<link rel="Preload stylesheet" href="§">'],
  ["the URL of an object", '<object data="§"></object><embed src="§">'],
  ["a scheme", '<a href="§:x">1</a><a href="java§:x">2</a><a href="ja§va§script&colon;x">3</a>'],
  [
    "a URL that runs code",
    '<a href="javascript:§">1</a><a href=" JAVA&Tab;script:x/§">2</a><a href="data:,§">3</a>',
  ],
  ["a script's start tag that a token cuts", "<scr§ipt>§</script>"],
  ["a script's start tag after a token", "<§script>§</script>"],
  ["an event handler's name that a token cuts", '<p o§nclick="§">'],
])
  test(`a value is left out in ${place}`, async () =>
    assert.equal(await render(template as string, "x"), template?.replaceAll("§", "")));

test("tokens that would complete an end tag or a character reference have no value", async () => {
  for (const [template, value, expected] of [
    ["<style></sty§>", "le", "<style></sty>"],
    ["<title></§title>", "/", "<title></title>"],
    ["<title></t§>", "itle", "<title></t>"],
    ["<title></§§>", "title", "<title></>"],
    ["<textarea><§>", "/textarea", "<textarea><>"],
    ['<a href="javascript&§;x">', "colon", '<a href="javascript&;x">'],
    ['<a href="javascript&#5§;x">', "8", '<a href="javascript&#5;x">'],
    ['<a href="javascript&#x3§;x">', "a", '<a href="javascript&#x3;x">'],
    ['<a href="java&#§;script:x">', "9", '<a href="java&#;script:x">'],
    ['<a href="java&#x§;script:x">', "9", '<a href="java&#x;script:x">'],
    ['<a href="/?a&§=x">', "b", '<a href="/?a&b=x">'],
    ['<p style="color&#5§;red">', "8", '<p style="color&#5;red">'],
  ] as const)
    assert.equal(await render(template, value), expected);
});

test("text in SVG does not end a CDATA section", async () => {
  assert.equal(await render("<svg><![CDATA[ § > ]]></svg>", "]]"), "<svg><![CDATA[ &#93;&#93; > ]]></svg>");
});

test("an unquoted attribute with an empty value does not take the next one for its value", async () => {
  for (const [template, expected] of [
    ["<p title=§ id=x>", "<p title=&#32; id=x>"],
    ["<p title=§>", "<p title=&#32;>"],
    ['<p title=§"x>', '<p title=&#32;"x>'],
    ["<a href=§§ id=x>", "<a href=&#32; id=x>"],
    ["<p title=x§ id=x>", "<p title=x id=x>"],
  ] as const)
    assert.equal(await render(template, ""), expected);
  assert.equal(await render("<a href=§ id=x>", "javascript:x"), "<a href=&#32; id=x>");
});

test("a style takes numbers, lengths, colours and words", async () => {
  for (const template of ['<p style="color: §">', "<p style=§>x", "<style>p { color: § }</style>"]) {
    for (const value of ["red", "#fFf", "1.5", "-3", "50%"])
      assert.ok((await render(template, value)).includes(value));
    for (const value of ["red;x", "url(x)", "a:b", "}", "/*", "\\65", "<", "@x", "é", '"', "a\nb"])
      assert.equal(await render(template, value), await render(template, ""));
  }
  assert.equal(
    (await render("<svg><animate attributeName=href to='§'/></svg>", "javascript:x")).includes("java"),
    false,
  );
});

test("a token that begins a URL gives a relative URL or one with a harmless scheme", async () => {
  const templates = [
    '<a href="§">',
    "<form action='§'>",
    '<svg><a xlink:href=" § "/></svg>',
    '<a href="§?x#y">',
  ];
  for (const template of [...templates, '<img srcset="/a 1x, § 2x">', '<a ping="§">']) {
    for (const url of [
      "https://x.test/?a=1",
      "HTTP://x",
      "mailto:a@b.test",
      "tel:+43",
      "/x",
      "x/y:z",
      "?a:b",
      "#a",
      "//x",
    ])
      assert.equal(await render(template, url), template.replace("§", url), url);
    for (const url of [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      "  \u00a0javascript:x",
      "\x01\x1fjavascript:x",
      "java\tscr\nipt\r:x",
      "java\0script:x",
      "java script:x",
      "javascript&colon;x:",
      "data:text/html,x",
      "vbscript:x",
      "blob:x",
      ":x",
    ])
      assert.equal(await render(template, url), template.replace("§", ""), url);
  }
  assert.equal(await render('<a href="§">', "javascript&#58;x"), '<a href="javascript&amp;#58;x">');
  assert.equal(await render('<a href="§">', " a b\n"), '<a href="a%20b">');
  assert.equal(
    await render('<img srcset="§ 1x">', "/a, javascript/b"),
    '<img srcset="/a%2C%20javascript/b 1x">',
  );
  assert.equal(await render('<img srcset="§, § 2x">', "javascript:x"), '<img srcset=",  2x">');
  assert.equal(await render('<a href="§§">', "java:"), '<a href="java%3A">');
});

test("addresses after mailto and tel keep their signs", async () => {
  const href = '<a href="mailto:§?subject=§">';
  assert.equal(await render(href, "a+b@x.test"), '<a href="mailto:a+b@x.test?subject=a%2Bb%40x.test">');
  assert.equal(await render('<a href="tel:§">', "+43 1"), '<a href="tel:+43%201">');
  assert.equal(await render('<a href="mailto:§">', "a?bcc=b&c"), '<a href="mailto:a%3Fbcc%3Db%26c">');
});

test("a value is percent-encoded once, by its token or by its place", async () => {
  const text = '<a href="/?e={contactfield=a|true}&f=%7Bcontactfield=a|true%7D">{contactfield=a|true}</a>';
  const template = await compileHtml(text, names);
  assert.equal(template.render(valuesOf({ a: "a b" })), '<a href="/?e=a%20b&f=a%20b">a%20b</a>');
});

test("arguments and defaults are read as HTML, and escaped again", async () => {
  const text =
    "<p title='{contactfield=a|Andr&eacute; &amp; &lt;Co&#39;}'>{contactfield=a|<b>x &copy}{dynamiccontent=&quot;A &amp; B&quot;}";
  const template = await compileHtml(text, names);
  const rendered = template.render(valuesOf({}, { "dynamiccontent=A & B": html`<i>${"1"}</i>` }));
  assert.equal(rendered, "<p title='André &amp; &lt;Co&#39;'>&lt;b&gt;x ©<i>1</i>");
});

test("NUL and half characters of values do not come into HTML", async () => {
  assert.equal(await render('<p title="§">§', "a\0b\ud83d"), '<p title="ab\ufffd">ab\ufffd');
});

test("a value cannot look like the marks of a token's place", async () => {
  assert.equal(await render("<p>§ t0n §</p>", "t0n0n"), "<p>t0n0n t0n t0n0n</p>");
});

const PIECES = [
  "<p>§</p>",
  "<p title=\"§\" class='§' id=§>",
  "<p id=§ title=x§>x</p>",
  '<p id=\u00a0"§" title=\u00a0§>x</p>',
  '<a href="§">x</a><a href=§§>y</a><a href="/§?a=§&amp;b§">z</a>',
  '<a href="§:x">1</a><a href="java§script:x">2</a>',
  '<img src="§" srcset="§ 1x, /§ 2x" alt=§ onerror="§">',
  "<style>p { color: §; §: red }</style>",
  '<p style="§; color: §">x</p>',
  "<script>let a = '§'; // §\n</script>",
  "<!-- § -->",
  "<title>§</title>",
  "<textarea>§</textarea>",
  "<svg><text x='§'>§</text><![CDATA[§>]]><style>§</style><script>§</script></svg>",
  "<table><tr><td>§</td></tr></table>",
  "<select><option value=§>§</select>",
  "<noscript><img src='§'></noscript>",
  "<iframe srcdoc='§'>§</iframe>",
  "<template>§</template>",
  '<meta http-equiv="refresh" content="§">',
  "<p§ §>x</p><§>",
  "&#§;x&§;",
  '<a href="java&#§;script:x">1</a><a href="javascript&§;x">2</a>',
  "<style></§></style><title></t§></title><textarea><§></textarea>",
];
const FRAGMENTS = [
  "<",
  ">",
  '"',
  "'",
  "&",
  "/",
  "=",
  " ",
  "`",
  "\n",
  "\0",
  "-->",
  "]]>",
  "</style>",
  "</title>",
  "</textarea>",
];
const CODE = [
  "<script>",
  "javascript:",
  "onerror=",
  "lt;",
  "#58;",
  "style",
  "x",
  "\ud800",
  "{contactfield=a}",
  "url(",
  "<!--",
];
const values = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.array(fc.constantFrom(...FRAGMENTS, ...CODE), { maxLength: 8 }).map((parts) => parts.join("")),
);
const templates = fc
  .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join(""));

test("the elements, attribute names, scripts and comments of a document are the same whatever a value is", async () => {
  await fc.assert(
    fc.asyncProperty(templates, values, async (template, value) => {
      const rendered = await render(template, value);
      assert.deepEqual(structureOf(rendered), structureOf(await render(template, "z")), rendered);
    }),
    { numRuns: 3_000 },
  );
});

test("a value is written as in a short text wherever a long text is cut for its parser", async () => {
  const CHUNK = 16_384;
  for (const piece of PIECES) {
    const written = await render(piece, "z");
    for (let cut = 0; cut <= piece.length; cut += 1) {
      const before = `<!--${"x".repeat(CHUNK - cut - 7)}-->`;
      assert.equal(await render(before + piece, "z"), before + written, `${piece} after ${cut}`);
    }
  }
});

test("no value is a URL that runs code", async () => {
  await fc.assert(
    fc.asyncProperty(templates, values, async (template, value) => {
      const urls = attributesOf(await render(template, value)).filter(
        ({ name }) => name === "href" || name === "src",
      );
      for (const url of urls) {
        const { protocol } = new URL(
          URL.canParse(url.value, "https://x.test") ? url.value : "",
          "https://x.test",
        );
        const isWritten = /^(?:java|x)?(?:script)?:x$/.test(url.value);
        assert.ok(isWritten || ["http:", "https:", "mailto:", "tel:"].includes(protocol), url.value);
      }
    }),
    { numRuns: 1_000 },
  );
});

/** All that makes a document but its text and the values of its attributes, which are listed for scripts and handlers. */
function structureOf(document: string): string[] {
  return nodesOf(document).flatMap((node) => {
    if (defaultTreeAdapter.isCommentNode(node)) return [`comment ${node.data}`];
    if (defaultTreeAdapter.isTextNode(node))
      return node.parentNode?.nodeName === "script" ? [`code ${node.value}`] : [];
    if (!defaultTreeAdapter.isElementNode(node)) return [node.nodeName];
    const { tagName, namespaceURI, attrs } = node;
    const attributes = attrs.map(({ name, value }) =>
      /^on|^srcdoc$|^content$/.test(name) ? `${name}=${value}` : name,
    );
    return [`${namespaceURI} ${tagName} ${attributes.join(" ")}`];
  });
}

function attributesOf(document: string): DefaultTreeAdapterTypes.Element["attrs"] {
  return nodesOf(document).flatMap((node) => (defaultTreeAdapter.isElementNode(node) ? node.attrs : []));
}

function nodesOf(document: string): DefaultTreeAdapterTypes.Node[] {
  const nodes: DefaultTreeAdapterTypes.Node[] = [parse(document, { scriptingEnabled: false })];
  for (const node of nodes) {
    if ("content" in node) nodes.push(node.content);
    if ("childNodes" in node) nodes.push(...node.childNodes);
  }
  return nodes;
}

test("misnested tags that would become millions of elements are a TemplateError", async () => {
  const formatting = Array.from({ length: 50_000 }, (_, index) => `<b a${index}>`).join("");
  await assert.rejects(compileHtml(`{today}${formatting}${"<p>".repeat(50_000)}`, names), TemplateError);
});
