import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "../tool.ts";
import { CONFIG } from "./product-images.ts";

test("an image that Docker builds runs like one that is packed without it", () => {
  const lines = readFileSync(join(root, "Dockerfile"), "utf8").split("\n");
  const last = (word: string) =>
    lines.findLast((line) => line.startsWith(`${word} `))?.slice(word.length + 1);
  const [, ...command] = CONFIG.Entrypoint;
  assert.deepEqual(JSON.parse(last("ENTRYPOINT") ?? ""), ["node", ...command]);
  assert.equal(last("USER"), CONFIG.User);
  assert.equal(last("WORKDIR"), CONFIG.WorkingDir);
  assert.deepEqual(
    last("ENV")?.split(" "),
    CONFIG.Env.filter((variable) => !variable.startsWith("PATH=")),
  );
});
