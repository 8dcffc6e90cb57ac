import assert from "node:assert/strict";
import { test } from "node:test";
import { ownerSenders } from "./owners.ts";

const settings = {
  from: { name: "Shop", address: "shop@mail.example" },
  dkimKeys: [],
  isOwnerMailer: true,
  signature: "Yours, |FROM_NAME|",
};
const owner = {
  ...{ firstname: "Grace", lastname: "Hopper", email: "grace@sales.example", position: "" },
  ...{ signature: "", isPublished: true },
};
const revision = { useOwnerAsMailer: true, replyToAddress: null };
const written = { address: "news@mail.example", name: "News" };

test("without keys of DKIM a mail is from any owner, and the usual signature has the name of the owner", () => {
  const sender = ownerSenders(settings).senderOf(revision, owner, written);
  assert.deepEqual(sender, {
    ...{ fromAddress: "grace@sales.example", fromName: "Grace Hopper" },
    replyTo: { address: "grace@sales.example", name: "Grace Hopper" },
    signature: { markup: "Yours, Grace Hopper" },
  });
});

test("a mail is from its email when MAIL_OWNER_AS_MAILER or useOwnerAsMailer is off, or the revision was kept before", () => {
  const off = ownerSenders({ ...settings, isOwnerMailer: false });
  for (const sender of [
    off.senderOf(revision, owner, written),
    ownerSenders(settings).senderOf({ ...revision, useOwnerAsMailer: false }, owner, written),
    ownerSenders(settings).senderOf({ replyToAddress: null }, owner, written),
  ])
    assert.deepEqual(sender, {
      ...{ fromAddress: "news@mail.example", fromName: "News", signature: { markup: "Yours, News" } },
    });
});

test("an owner with a malformed address is no sender and gets no replies", () => {
  for (const email of ["", "grace", "grace@sales.example\r\nBcc: all@victim.example", "<x>@y"]) {
    const sender = ownerSenders(settings).senderOf(revision, { ...owner, email }, written);
    assert.deepEqual([sender.fromAddress, sender.replyTo], ["news@mail.example", undefined], email);
  }
});

test("a name in a signature is text: it adds no markup, and no sign of it is read as a reference", () => {
  const named = { ...owner, firstname: "$&", lastname: '<b> & "', signature: "<i>|FROM_NAME|</i>" };
  const { signature } = ownerSenders(settings).senderOf(revision, named, written);
  assert.equal(signature.markup, "<i>$&amp; &lt;b&gt; &amp; &quot;</i>");
});
