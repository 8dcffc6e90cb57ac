import { execFile } from "node:child_process";
import { delimiter, dirname } from "node:path";
import { promisify } from "node:util";
import { natsProgram } from "@tidings/embedded/nats-program";
import { postgresProgram } from "@tidings/embedded/postgres-program";
import { storeVersion } from "./store-images.ts";

// Runs tests as `npm test` does, on the versions of NATS and Postgres that the chart pins.
const { postgres } = await postgresProgram();
const { stdout } = await promisify(execFile)(postgres, ["--version"]);
const wanted = storeVersion("postgres");
if (!stdout.trim().endsWith(` ${wanted}`))
  throw new Error(`The chart pins Postgres ${wanted}, the tests bring ${stdout.trim()}`);
const version = storeVersion("nats");
process.env.PATH = [dirname(await natsProgram(version)), process.env.PATH].join(delimiter);
console.log(`On Postgres ${wanted} and NATS ${version}`);
await import("./test.ts");
