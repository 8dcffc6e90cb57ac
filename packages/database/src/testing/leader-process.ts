import { setTimeout as pause } from "node:timers/promises";
import { createLog } from "@tidings/runtime/log";
import { electLeader } from "../leader.ts";

// A process that runs for leadership and reports to its parent whether it leads.
const leadership = electLeader({
  url: process.argv[2] ?? "",
  name: process.argv[3] ?? "",
  log: createLog("leader", "silent"),
});
process.on("disconnect", () => process.exit());
for (let isLeader: boolean | undefined; ; await pause(20)) {
  if (leadership.isLeader() === isLeader) continue;
  isLeader = leadership.isLeader();
  process.send?.({ isLeader });
}
