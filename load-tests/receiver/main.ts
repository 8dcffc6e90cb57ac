import { startReceiverServer } from "./receiver.ts";

const port = Number(process.env.PORT ?? "8090");
const { stop } = await startReceiverServer({ port, host: process.env.HOST ?? "0.0.0.0" });
process.stdout.write(`Taking webhooks on port ${port}\n`);
for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, () => void stop().then(() => process.exit(0)));
