import type { MailLinks } from "@tidings/content/send/mail-links";
import type { Client } from "pg";
import type { Target } from "../measure.ts";
import type { BenchOptions } from "../options.ts";
import type { PublicWeb } from "../public/public-web.ts";
import type { Readers } from "./newsletter.ts";
import type { Sink } from "./start-sink.ts";

/** All that the rows of sending share. */
export interface SendingBench {
  target: Target;
  options: BenchOptions;
  databaseUrl: string;
  client: Client;
  sink: Sink;
  readers: Readers;
  web: PublicWeb;
  links: MailLinks;
  postgresPid: number;
}
