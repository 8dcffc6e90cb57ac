import { contactStream } from "@tidings/bus/streams";
import { startService } from "@tidings/service/start-service";
import { contactConfig } from "./config.ts";
import { migrations } from "./migrations.ts";
import { openContactService } from "./service.ts";

const config = contactConfig(process.env);
await startService({ name: "contact", config, stream: contactStream, migrations }, openContactService);
