import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, readFile, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import openapiTS, { astToString } from "openapi-typescript";
import { ADMINISTRATOR, startTestStack } from "../stack.ts";

const run = promisify(execFile);
const here = import.meta.dirname;
const OPTIONS = {
  compilerOptions: {
    target: "es2024",
    lib: ["es2024", "dom", "dom.iterable"],
    module: "nodenext",
    types: ["node"],
    typeRoots: [join(here, "../../node_modules/@types")],
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    skipLibCheck: false,
  },
  files: ["story.ts"],
};

/** Members of bodies that have a default may be left out (`--default-non-nullable false`). */
test("a client with types that are generated from the description compiles, and does the README's story", async (t) => {
  const stack = await startTestStack();
  t.after(() => stack.stop());
  const { path: folder, remove } = await temporaryFolder();
  t.after(remove);
  const description = await readFile(join(here, "../../docs/openapi.json"), "utf8");
  await writeFile(
    join(folder, "api.d.ts"),
    astToString(await openapiTS(description, { defaultNonNullable: false })),
  );
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(OPTIONS));
  await writeFile(join(folder, "package.json"), '{"type":"module"}');
  await copyFile(join(here, "story.ts"), join(folder, "story.ts"));
  await symlink(join(here, "node_modules"), join(folder, "node_modules"));
  const compiler = createRequire(import.meta.url).resolve("typescript/bin/tsc");
  const compiled = await run(process.execPath, [compiler, "-p", folder]).catch((error) => error);
  assert.equal(compiled.stdout, "");
  const { username, password } = ADMINISTRATOR;
  await run(process.execPath, [join(folder, "story.ts"), stack.baseUrl, username, password]);
});
