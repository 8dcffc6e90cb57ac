import { runTools } from "./tool.ts";

await runTools([
  { command: "biome", args: ["check", "--write", "."] },
  { command: "buf", args: ["format", "--write"], cwd: "proto" },
]);
