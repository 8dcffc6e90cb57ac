import { startReceiverServer } from "./receiver.ts";

const { PORT = "8090", MAIL_PORT = "2525", HOST = "0.0.0.0" } = process.env;
const { stop } = await startReceiverServer({ port: Number(PORT), mailPort: Number(MAIL_PORT), host: HOST });
process.stdout.write(`Taking webhooks on port ${PORT} and mails on port ${MAIL_PORT}\n`);
for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, () => void stop().then(() => process.exit(0)));
