import { spawn } from "node:child_process";
import { once } from "node:events";
import { prepare } from "./programs.ts";

/** `npm run test:charts`: the tests of the charts, which need no servers. `--update` writes down what is rendered now. */
const update = process.argv.includes("--update");
await prepare();
const tests = ["profiles", "rules"].map((name) => `${import.meta.dirname}/${name}.test.ts`);
const child = spawn(process.execPath, ["--test", ...tests], {
  stdio: "inherit",
  env: { ...process.env, ...(update && { UPDATE: "1" }) },
});
const [code] = await once(child, "exit");
process.exitCode = code ?? 1;
