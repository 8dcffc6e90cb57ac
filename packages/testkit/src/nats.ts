import { type Nats, startNats } from "@tidings/embedded/nats";
import { temporaryFolder } from "./temporary-folder.ts";

/** A nats-server for one test file. Its data is gone once it is stopped. */
export async function startTestNats(): Promise<Nats> {
  const folder = await temporaryFolder();
  const nats = await startNats({ dataDir: folder.path });
  return { ...nats, stop: () => nats.stop().then(folder.remove) };
}
