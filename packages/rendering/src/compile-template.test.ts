import assert from "node:assert/strict";
import { test } from "node:test";
import { html } from "@tidings/runtime/html";
import fc from "fast-check";
import { compileHtml, compileTemplate, type TextKind } from "./compile-template.ts";
import { TemplateError } from "./template-error.ts";
import { names, valuesOf } from "./test-values.ts";

const values = valuesOf(
  {
    email: "ada+x@example.org",
    firstname: "Ada",
    empty: "",
    born: "1915-12-10",
    seen: "2026-11-24 23:05:09",
  },
  { subject: "Hello", "pagelink=3": "https://tidings.test/p?a=1&b=2", 'dynamiccontent=A "b"': "found" },
);

function compiled(text: string, kind: TextKind | "html") {
  return kind === "html" ? compileHtml(text, names) : compileTemplate(text, kind, names);
}

function render(text: string, kind: TextKind = "text"): string {
  return compileTemplate(text, kind, names).render(values);
}

for (const [text, expected] of [
  ["Dear {contactfield=firstname}!", "Dear Ada!"],
  ["Dear {contactfield=firstname|friend}!", "Dear Ada!"],
  ["Dear {contactfield=empty|friend}!", "Dear friend!"],
  ["Dear {contactfield=unknown|a | b = c}!", "Dear a | b = c!"],
  ["{contactfield=unknown}{contactfield=unknown|}", ""],
  ["{contactfield=constructor}{contactfield=__proto__}", ""],
  ["{contactfield=email|true}", "ada%2Bx%40example.org"],
  ["{contactfield=born|date}", "December 10, 1915"],
  ["{contactfield=seen|date}", "November 25, 2026"],
  ["{contactfield=seen|time}", "12:05 AM"],
  ["{contactfield=seen|datetime}", "November 25, 2026 at 12:05 AM"],
  ["{contactfield=firstname|date}", "Ada"],
  ["{contactfield=empty|date}", ""],
  ["%7Bcontactfield=email%7D", "ada+x@example.org"],
  ["%7bcontactfield%3Dempty%7Ca%20friend%7d", "a friend"],
  ["%7Bcontactfield=empty|100%%7D", "%7Bcontactfield=empty|100%%7D"],
  ["{today} {today|date}", "November 25, 2026 November 25, 2026"],
  ["{today|time}, {today|datetime}", "12:05 AM, November 25, 2026 at 12:05 AM"],
  ["{today|Y-m-d H:i}", "2026-11-25 00:05"],
  ["{today|date|+2 days}", "November 27, 2026"],
  ["{today|d.m.Y|-1 month}", "25.10.2026"],
  ["{subject}: {pagelink=3}", "Hello: https://tidings.test/p?a=1&b=2"],
  ['{pagelink="3"}', "https://tidings.test/p?a=1&b=2"],
  ['{dynamiccontent="A "b""}', "found"],
  ["{pagelink=4}{langbar}", ""],
  ["{{subject}}", "{Hello}"],
  ["{contactfield=a{subject}", "{contactfield=aHello"],
])
  test(`${text} becomes ${expected || "empty"}`, () => assert.equal(render(text as string), expected));

for (const text of [
  "body { color: red }",
  "function f() { return {a: 1}; }",
  "{}",
  "{",
  "}",
  "}{",
  "%7B%7D",
  "{unknown}",
  "{unknown=3}",
  "{contactfield}",
  "{contactfield=}",
  "{contactfield=a b}",
  "{ subject }",
  "{subjects}",
  "{subject|x}",
  "{constructor}",
  "{today=3}",
  "{today|}",
  "{today|date|tomorrow}",
  "{today|date|+101 years}",
  "{today|date|+1 day|x}",
  "{subject%7D",
  "%7Bsubject}",
  `{contactfield=unknown|${"x".repeat(3_000)}}`,
])
  test(`${text.slice(0, 40)} holds no token and stays as it is`, async () => {
    for (const kind of ["text", "html", "header", "url"] as const) {
      const template = await compiled(text, kind);
      assert.equal(template.render(values), text);
      assert.deepEqual([template.contactFields, template.tokens], [[], []]);
    }
  });

test("a template lists the contact fields and the other tokens that it has, each once", () => {
  const text =
    "{contactfield=b}{contactfield=a|x}{contactfield=b|true}{pagelink=3}{pagelink=3}{pagelink=4}{subject}{today}";
  const { contactFields, tokens } = compileTemplate(text, "text", names);
  assert.deepEqual(contactFields, ["b", "a"]);
  assert.deepEqual(tokens, [
    { name: "pagelink", argument: "3" },
    { name: "pagelink", argument: "4" },
    { name: "subject", argument: undefined },
  ]);
});

test("values that look like tokens are not expanded", async () => {
  const looks = "{contactfield=b}%7Bcontactfield=b%7D{subject}{today}";
  for (const kind of ["text", "html", "header"] as const) {
    const template = await compiled("{contactfield=a}|{pagelink=3}|{contactfield=c|{subject}}", kind);
    const rendered = template.render(
      valuesOf({ a: looks, b: "secret" }, { "pagelink=3": looks, subject: "s" }),
    );
    assert.equal(rendered, `${looks}|${looks}|{contactfield=c|s}`);
  }
});

test("a token of a rendered text needs an opening brace of the same template", () => {
  const template = compileTemplate("{{contactfield=a}}", "text", names);
  assert.equal(template.render(valuesOf({ a: "subject" }, { subject: "secret" })), "{subject}");
});

test("no value puts a control character or another line into a header", () => {
  const template = compileTemplate("Dear {contactfield=a}!", "header", names);
  const hostile = "Ada\r\nBcc: eve@example.org\0\x7f\x85\u2028x\t\v";
  assert.equal(template.render(valuesOf({ a: hostile })), "Dear Ada Bcc: eve@example.org x !");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (a) => {
      const rendered = template.render(valuesOf({ a }));
      assert.doesNotMatch(rendered, /[\p{Cc}\p{Cs}\u2028\u2029]/u);
    }),
  );
  const fallback = compileTemplate("{contactfield=a|x\r\nBcc: y}", "header", names);
  assert.equal(fallback.render(valuesOf({})), "x Bcc: y");
});

test("a placeholder stands for a field that has neither a value nor a default", () => {
  const template = compileTemplate(
    "{contactfield=a}, {contactfield=b|friend}, {contactfield=c}",
    "text",
    names,
  );
  const values = { ...valuesOf({ c: "Ada" }), placeholderOf: (alias: string) => `[${alias}]` };
  assert.equal(template.render(values), "[a], friend, Ada");
});

test("a text keeps line feeds and tabs of values and loses other control characters", () => {
  const template = compileTemplate("{contactfield=a}", "text", names);
  assert.equal(template.render(valuesOf({ a: "a\r\n\tb\0\x1b[31m<&\ud800" })), "a\n\tb[31m<&\ufffd");
});

test("a URL has values percent-encoded once", () => {
  const template = compileTemplate(
    "https://x.test/{contactfield=a}?q={contactfield=a|true}&d=%7Bcontactfield=none%7Ca%26b%7D",
    "url",
    names,
  );
  const encoded = "a%20b%2F%26%25%EF%BF%BD";
  const rendered = template.render(valuesOf({ a: "a b/&%\ud800" }));
  assert.equal(rendered, `https://x.test/${encoded}?q=${encoded}&d=a%26b`);
});

test("a value that is HTML stands in the text of HTML alone", async () => {
  const form = html`<form>${"&"}</form>`;
  const markup = valuesOf({}, { "form=1": form });
  const of = async (text: string, kind: TextKind | "html") => (await compiled(text, kind)).render(markup);
  assert.equal(await of("<p>{form=1}</p>", "html"), "<p><form>&amp;</form></p>");
  for (const text of [
    '<p title="{form=1}">',
    "<title>{form=1}</title>",
    "<style>{form=1}</style>",
    "<!--{form=1}-->",
  ])
    assert.equal(await of(text, "html"), text.replace("{form=1}", ""));
  assert.equal(await of("<p title={form=1} id=x>", "html"), "<p title=&#32; id=x>");
  assert.equal(await of("<svg><text>{form=1}</text></svg>", "html"), "<svg><text></text></svg>");
  for (const kind of ["text", "header", "url"] as const)
    assert.equal(await of("<p>{form=1}</p>", kind), "<p></p>");
});

test("dates are written in the locale, the zone and the formats that the caller gives", () => {
  const template = compileTemplate("{today} {today|datetime} {contactfield=a|date}", "text", names);
  const dates = { now: Date.UTC(2026, 10, 24, 23, 5, 9), timeZone: "America/New_York", locale: "de_AT" };
  const own = { ...values, contactFields: new Map([["a", "2026-01-02"]]), dates };
  assert.equal(template.render(own), "24. November 2026 24. November 2026 um 18:05 2. Jänner 2026");
  const formats = { date: "Y/m/d", datetime: "Y/m/d H\\h" };
  assert.equal(
    template.render({ ...own, dates: { ...dates, formats } }),
    "2026/11/24 2026/11/24 18h 2026/01/02",
  );
  const unknown = { ...dates, timeZone: "Mars/Olympus", locale: "not a locale" };
  assert.match(
    template.render({ ...own, dates: unknown }),
    /^November 24, 2026 November 24, 2026 at 11:05\sPM/,
  );
});

test("the first 5,000 tokens are read and the others stay as they are", async () => {
  const template = await compileHtml("{contactfield=a}".repeat(5_002), names);
  assert.equal(template.render(valuesOf({ a: "x" })), `${"x".repeat(5_000)}{contactfield=a}{contactfield=a}`);
});

test("a template or a rendered text that is too long is a TemplateError", () => {
  assert.throws(() => compileTemplate("x".repeat(4_000_001), "text", names), TemplateError);
  const template = compileTemplate("{contactfield=a}{contactfield=a}", "text", names);
  const long = { ...valuesOf({ a: "x".repeat(5) }), lengthMax: 10 };
  assert.equal(template.render(long).length, 10);
  assert.throws(() => template.render({ ...long, lengthMax: 9 }), TemplateError);
});

test("text without tokens is rendered as it is, whatever it is", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary" }), async (text) => {
      for (const kind of ["text", "html"] as const)
        assert.equal((await compiled(text, kind)).render(values), text);
    }),
  );
});
