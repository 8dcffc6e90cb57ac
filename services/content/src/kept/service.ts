import { timestampFromMilliseconds } from "@tidings/database/timestamp";
import { type KeptMail, KeptMailService } from "@tidings/proto/tidings/content/v1/kept_mail";
import type { Handlers } from "@tidings/rpc/definition";
import { notFound } from "@tidings/rpc/fault";
import { implement } from "@tidings/rpc/server";
import { endingTokens } from "@tidings/secrets/public-token";
import type { Foundation, Parts } from "@tidings/service/start-service";
import type { Router } from "express";
import type { ContentConfig } from "../config.ts";
import type { MailParts } from "../send/mail-parts.ts";
import { type KeptOptions, keptLink, keptRoutes, readKept } from "./kept-routes.ts";
import { type FolderMail, mailFolder } from "./mail-folder.ts";
import { ownedMails, startTidyingMails } from "./owned-mails.ts";

type KeptParts = Required<Pick<Parts, "services" | "work">> & { routes: Router[] };

/** Shows administrators the mails that are kept as files in place of being sent. */
export function openKeptMails(
  { config, database, log }: Foundation<ContentConfig>,
  { way }: Pick<MailParts, "way">,
): KeptParts {
  const { MAIL_URL: urls = [], PUBLIC_TOKEN_KEYS: keys, PUBLIC_URL: publicUrl } = config;
  const [url] = urls;
  if (url?.kind !== "file" || urls.length > 1)
    return {
      services: [implement(KeptMailService, noneKept(way?.transport.name ?? ""))],
      work: {},
      routes: [],
    };
  const folder = mailFolder(url.folder);
  const options = { database, folder, publicUrl, tokens: endingTokens(keys, "kept mail") };
  return {
    services: [implement(KeptMailService, keptMailHandlers(options))],
    work: { "folder of mails": startTidyingMails(database, folder, log) },
    routes: [keptRoutes(options)],
  };
}

function noneKept(transport: string): Handlers<typeof KeptMailService> {
  return {
    listKeptMails: async () => ({ isKept: false, transport }),
    async getKeptMail() {
      throw notFound();
    },
  };
}

const PAGE_MAX = 100;
const SEARCH_LENGTH_MAX = 200;
/** Enough to read; the rest is in the file. */
const SHOWN_BYTES_MAX = 100_000;
const HEADERS_MAX = 200;
const HEADER_LENGTH_MAX = 2_000;

function keptMailHandlers(options: KeptOptions): Handlers<typeof KeptMailService> {
  const { database, folder } = options;
  return {
    async listKeptMails({ search, after, pageSize }, { deadlineMs }) {
      const count = Math.min(Math.max(pageSize, 1), PAGE_MAX);
      const page = await folder.list({ search: search.slice(0, SEARCH_LENGTH_MAX), after, count });
      const mails = await ownedMails(database, folder, page.mails, deadlineMs);
      return { isKept: true, mails: mails.map(listed), next: page.next };
    },
    async getKeptMail({ id }, { deadlineMs }) {
      const kept = await readKept(options, id, deadlineMs);
      if (!kept) throw notFound();
      const { mail, octets, parsed } = kept;
      return {
        mail: listed(mail),
        headers: parsed.headers
          .slice(0, HEADERS_MAX)
          .map(({ name, value }) => ({ name: name.toWellFormed(), value: cut(value, HEADER_LENGTH_MAX) })),
        text: cut(parsed.text, SHOWN_BYTES_MAX),
        source: octets.subarray(0, SHOWN_BYTES_MAX).toString(),
        htmlUrl: parsed.html === "" ? "" : keptLink(options, id, "html"),
        sourceUrl: keptLink(options, id, "source"),
        attachments: parsed.attachments.map(({ name, type, bytes }, index) => ({
          ...{ name: name.toWellFormed(), type: type.toWellFormed(), bytes: bytes.length },
          url: keptLink(options, id, index),
        })),
      };
    },
  };
}

function cut(text: string, lengthMax: number): string {
  return text.slice(0, lengthMax).toWellFormed();
}

function listed({ id, keptAt, bytes, subject, from, to }: FolderMail): Omit<KeptMail, "$typeName"> {
  return { id, keptAt: timestampFromMilliseconds(keptAt), bytes, subject, from, to };
}
