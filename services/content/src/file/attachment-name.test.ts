import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { attachmentName, contentDisposition } from "./attachment-name.ts";

test("a download has the title and the extension of its file as its name", () => {
  const names = {
    "The Guide": "The Guide.pdf",
    "guide.PDF": "guide.pdf",
    "Grüße 2026": "Grüße 2026.pdf",
    "a/b\\..\\c": "a b .. c.pdf",
    "../../etc/passwd": "etc passwd.pdf",
    'x"; filename="evil.exe': "x filename= evil.exe.pdf",
    "a\r\nSet-Cookie: b=c": "a Set-Cookie b=c.pdf",
    "invoice\u202Efdp.exe": "invoice fdp.exe.pdf",
    "\0\u200B": "file.pdf",
    "...": "file.pdf",
    "": "file.pdf",
    ["x".repeat(300)]: `${"x".repeat(100)}.pdf`,
  };
  for (const [title, name] of Object.entries(names)) assert.equal(attachmentName(title, "pdf"), name, title);
});

test("no title breaks the header", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (title) => {
      const header = contentDisposition("attachment", attachmentName(title, "pdf"));
      return /^attachment; filename\*=UTF-8''[A-Za-z0-9!#$&+.^_`|~%-]+$/.test(header);
    }),
  );
  assert.equal(contentDisposition("inline", "a (1)*.pdf"), "inline; filename*=UTF-8''a%20%281%29%2A.pdf");
});
