import assert from "node:assert/strict";
import { test } from "node:test";
import { withoutScripts } from "./without-scripts.ts";

test("content keeps its elements, and loses what runs code", () => {
  assert.equal(withoutScripts('<p class="a">Hi <b>you</b></p>'), '<p class="a">Hi <b>you</b></p>');
  const hostile = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '<a href=" java\nscript:alert(1)">a</a>',
    "<svg><script>alert(1)</script></svg>",
    '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
    "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><script>alert(1)</script>'>",
    "<math><mi xlink:href='data:text/html,<script>alert(1)</script>'>",
  ];
  for (const markup of hostile) {
    const cleaned = withoutScripts(markup).replaceAll(/\s/g, "");
    assert.doesNotMatch(cleaned, /<script|onerror|javascript:|srcdoc|data:/i, markup);
  }
});

test("deeply nested content is cleaned without running out of stack", () => {
  assert.equal(withoutScripts(`${"<b>".repeat(20_000)}x<script>1</script>`).includes("<script"), false);
});
