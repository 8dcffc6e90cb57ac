import assert from "node:assert/strict";
import { test } from "node:test";
import { atOnce } from "@tidings/runtime/long-work";
import { mendTokens } from "./mend-tokens.ts";
import { names } from "./test-values.ts";

for (const [text, expected, ...unread] of [
  ["Hello {contactfield=firstname|you} {today|date|+2 days} {subject}"],
  ["{greeting}!", "!", "unknown {greeting}"],
  ["Hi {leadfield=firstname|friend}", "Hi friend", "unknown {leadfield=firstname|friend}"],
  ["{nothing=3}", "", "unknown {nothing=3}"],
  ["{{firstname}} {{subject}}", " {{subject}}", "unknown {{firstname}}"],
  ["Hi {contactfield}", "Hi ", "unknown {contactfield}"],
  ["Hi {contactfield=first name|friend}", "Hi friend", "unknown {contactfield=first name|friend}"],
  ["{today|date|tomorrow}", "", "unknown {today|date|tomorrow}"],
  ["{subject|none}", "none", "unknown {subject|none}"],
  ["Hi {contactfield=firstname, there", "Hi , there", "unclosed {contactfield=firstname, there"],
  [
    "Hi {contactfield=firstname|friend, there",
    "Hi friend, there",
    "unclosed {contactfield=firstname|friend, there",
  ],
  ["{contactfield=a {subject}", " {subject}", "unclosed {contactfield=a"],
  ["{subject", "", "unclosed {subject"],
  ['"{contactfield=a">', '"">', 'unclosed {contactfield=a">'],
  ["{ see below } {} { } {a b} { color: red } {a:b} {3 + 4} { unknown"],
  ["{unknown", "{unknown"],
  ["https://shop.example/?q=%7Bunknown%7D"],
] as [string, string?, ...string[]][])
  test(`${text} is read as ${expected ?? "it is written"}`, () => {
    const mended = atOnce(mendTokens(text, names, "text"));
    assert.equal(mended.text, expected ?? text);
    assert.deepEqual(
      mended.unread.map(({ reason, text }) => `${reason} ${text}`),
      unread,
    );
  });

test("braces of style sheets and scripts stay, and those of attributes and texts are mended", () => {
  const style = "<style>a{x}b{unknown}@media{c{color:red}}</style><script>function(){return}</script>";
  const { text, unread } = atOnce(
    mendTokens(`${style}<a href="{unknown|/x}" style="{y}">{z|a &amp; b}</a>${style}`, names, "html"),
  );
  assert.equal(text, `${style}<a href="/x" style="">a &amp; b</a>${style}`);
  assert.equal(unread.length, 3);
});

test("the first 20 of many unread tokens are named, each shortened", () => {
  const { text, unread } = atOnce(mendTokens(`{x=${"y".repeat(500)}}`.repeat(1_000), names, "html"));
  assert.equal(text, "");
  assert.deepEqual([unread.length, unread[0]?.text.length], [20, 60]);
});
