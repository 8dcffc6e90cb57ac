import assert from "node:assert/strict";
import { test } from "node:test";
import { PathTree } from "./path-tree.ts";

const DIGITS = { matches: (text: string) => /^\d+$/.test(text) };

function treeOf(...templates: string[]): PathTree<string> {
  const tree = new PathTree<string>();
  for (const template of templates) tree.put(template, template, { id: DIGITS });
  return tree;
}

test("a word wins over a parameter in its place, whatever was put first", () => {
  for (const templates of [
    ["/a/:id/points/:operator", "/a/:id/points/groups"],
    ["/a/:id/points/groups", "/a/:id/points/:operator"],
  ]) {
    const tree = treeOf(...templates);
    assert.equal(tree.find("/a/1/points/groups")?.value, "/a/:id/points/groups");
    assert.deepEqual(tree.find("/a/1/points/plus"), {
      value: "/a/:id/points/:operator",
      texts: { id: "1", operator: "plus" },
    });
  }
});

test("a path that begins like another one is found where it ends as its own", () => {
  const tree = treeOf(
    "/a/events/:id",
    "/a/:id/contacts",
    "/a/events/contact/:contact",
    "/a/:word/contact/:contact",
  );
  assert.equal(tree.find("/a/events/5")?.value, "/a/events/:id");
  assert.equal(tree.find("/a/5/contacts")?.value, "/a/:id/contacts");
  assert.equal(tree.find("/a/events/contact/7")?.value, "/a/events/contact/:contact");
  assert.deepEqual(tree.find("/a/other/contact/7")?.texts, { word: "other", contact: "7" });
});

test("a word in the place of an id, an empty segment and a path that goes on are other paths", () => {
  const tree = treeOf("/a/:id", "/a");
  for (const path of ["/a/b", "/a/1x", "/a//1", "/a/1/2", "/b", "/A", "/"])
    assert.equal(tree.find(path), undefined, path);
});

test("a slash at the end changes nothing", () => {
  const tree = treeOf("/", "/a/:id");
  assert.equal(tree.find("/a/1/")?.value, "/a/:id");
  assert.equal(tree.find("/")?.value, "/");
});

test("parameters are decoded; a path that is not percent-encoded UTF-8 is refused", () => {
  const tree = treeOf("/a/:word");
  assert.deepEqual(tree.find("/a/b%20c%2Fd")?.texts, { word: "b c/d" });
  assert.throws(() => tree.find("/a/%ff"), { reason: "BAD_REQUEST" });
});

test("names that every object knows are texts like others", () => {
  const tree = treeOf("/a/:word");
  assert.equal(tree.find("/constructor"), undefined);
  assert.equal(tree.find("/a/__proto__")?.texts.word, "__proto__");
});

test("a second row of one path is an error of the program", () => {
  assert.throws(() => treeOf("/a/:id", "/a/:id"), /there twice/);
});
