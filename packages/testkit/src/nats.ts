import { type Nats, type NatsOptions, startNats } from "@tidings/embedded/nats";
import { temporaryFolder } from "./temporary-folder.ts";

/** A nats-server for one test file. Its data is gone once it is stopped. */
export async function startTestNats(options: Omit<NatsOptions, "dataDir"> = {}): Promise<Nats> {
  const folder = await temporaryFolder();
  const nats = await startNats({ ...options, dataDir: folder.path });
  return { ...nats, stop: () => nats.stop().then(folder.remove) };
}
