import assert from "node:assert/strict";
import { performance } from "node:perf_hooks";
import { test } from "node:test";
import { compileHtml, compileTemplate } from "./compile-template.ts";
import { TemplateError } from "./template-error.ts";
import { names, valuesOf } from "./test-values.ts";

const LENGTH = 1_000_000;
/** A linear reader needs a fraction of this on a busy machine, and a quadratic one needs minutes. */
const TIME_MAX_MS = 5_000;

const long = (piece: string) => piece.repeat(Math.ceil(LENGTH / piece.length));
const attributes = Array.from({ length: 150_000 }, (_, index) => `a${index}`).join(" ");

for (const [name, text] of [
  ["opening braces", long("{")],
  ["closing braces", long("}")],
  ["pairs of braces", long("{}")],
  ["encoded braces", long("%7B")],
  ["tokens without an end", long("{contactfield=")],
  ["one token without an end", `{contactfield=${long("a")}`],
  ["tokens with references", long("{today|&amp;&eacute;}")],
  ["texts that begin like tokens", long("{contactfield= &amp;}")],
  ["tokens", long("{contactfield=a|b}")],
  ["tokens in one attribute", `<a href="${long("{contactfield=a}")}">`],
  ["tokens in one long attribute", `<a href="${`${"a".repeat(200)}{contactfield=a}`.repeat(5_000)}">`],
  ["tokens in one list of URLs", `<img srcset="${`${"a".repeat(190)}, {contactfield=a} `.repeat(5_000)}">`],
  ["tokens in one URL of a list", `<img srcset="${`${"a".repeat(190)}{contactfield=a}`.repeat(5_000)}">`],
  [
    "tokens in attributes of one tag",
    `<a ${Array.from({ length: 5_000 }, (_, i) => `b${i}={today}`).join(" ")}>`,
  ],
  ["tokens in comments", long("<!--{today}-->")],
  ["tokens in tag names", long("<{today}>")],
  ["tokens after references that are not complete", `{today}${long("&")}{today}`],
  ["nested elements without an end", `{today}${long("<div>")}{today}`],
  ["nested formatting without an end", `{today}${long("<b>")}`],
  ["misnested formatting", `{today}${long("<p><b>")}`],
  ["nested tables", `{today}${long("<table><tr><td>")}`],
  ["text that tables push out", `{today}<table>${long("<b>x<tr>")}`],
  ["nested SVG", `{today}${long("<svg><g></x>")}`],
  ["end tags without a start", `{today}<div>${long("</p></b></span>")}`],
  ["one tag without an end", `{today}<a ${long("b ")}`],
  ["one tag of many attributes", `{today}<a ${attributes}>`],
  ["less-than signs", `{today}${long("<")}`],
  ["an open comment", `{today}<!--${long("--!")}`],
  ["an open script", `{today}<script><!--${long("<script")}`],
] as const)
  test(`a megabyte of ${name} is compiled and rendered in linear time`, async () => {
    const startedAt = performance.now();
    for (const kind of ["html", "text"] as const)
      try {
        const compiled = kind === "html" ? compileHtml(text, names) : compileTemplate(text, kind, names);
        (await compiled).render(valuesOf({ a: "x" }));
      } catch (error) {
        assert.ok(error instanceof TemplateError, String(error));
      }
    const spentMs = performance.now() - startedAt;
    if (process.env.SHOW_TIMES) process.stderr.write(`${name}: ${Math.round(spentMs)} ms\n`);
    assert.ok(spentMs < TIME_MAX_MS, `${Math.round(spentMs)} ms`);
  });

test("megabytes of hostile values are written in linear time", async () => {
  const text =
    '{contactfield=a}<p title={contactfield=a} style="{contactfield=a}"><a href="{contactfield=a}{contactfield=a}">';
  const template = await compileHtml(text, names);
  for (const piece of ["&", " ", "\0", "\n", "<", ":", "a", "\ud800", "é ", "]"]) {
    const startedAt = performance.now();
    template.render({ ...valuesOf({ a: long(piece) }), lengthMax: 100_000_000 });
    assert.ok(performance.now() - startedAt < TIME_MAX_MS, piece);
  }
});
