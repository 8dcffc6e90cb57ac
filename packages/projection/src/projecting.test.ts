import assert from "node:assert/strict";
import { test } from "node:test";
import { filterOf } from "./projecting.ts";

const filter = (...subjects: string[]) => filterOf(subjects.map((subject) => ({ subject })));

test("a durable is sent what is kept, and as little else as one filter can say", () => {
  assert.equal(filter("tidings.contact.segment.*"), "tidings.contact.segment.*");
  assert.equal(filter("tidings.content.page.hit"), "tidings.content.page.hit");
  assert.equal(filter("tidings.content.email.sent", "tidings.content.email.*"), "tidings.content.email.*");
  assert.equal(filter("tidings.contact.segment.*", "tidings.contact.contact.*"), "tidings.contact.*.*");
  assert.equal(
    filter("tidings.content.email.sent", "tidings.content.email.sent"),
    "tidings.content.email.sent",
  );
});
