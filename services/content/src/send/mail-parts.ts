import { failoverTransport } from "@tidings/mail/failover-transport";
import type { MailTransport } from "@tidings/mail/mail-transport";
import { openTransport, type TransportUrl } from "@tidings/mail/open-transport";
import type { Foundation } from "@tidings/service/start-service";
import type { ContentConfig } from "../config.ts";
import type { FileStore } from "../file/store.ts";
import { knownContacts } from "../visit/known-contact.ts";
import type { PageAddresses } from "../web/page-address.ts";
import { rowIdOf } from "../web/row-id.ts";
import { attachmentReader, type ReadAttachments } from "./attachments.ts";
import type { UsualSender } from "./compose-send.ts";
import { type AskContactable, contactableAsker } from "./contactable.ts";
import { fieldLabels } from "./field-labels.ts";
import { mailLinks } from "./mail-links.ts";
import { mailOwners } from "./owners.ts";
import { type RenderSend, sendRenderer } from "./render-send.ts";
import type { UnsentOptions } from "./render-unsent.ts";
import { countedTransport } from "./send-metrics.ts";

/** All that writes and sends mails share. */
export interface MailParts {
  rendering: UnsentOptions;
  /** Writes mails of sends as they leave. */
  render: RenderSend;
  attachmentsOf: ReadAttachments;
  askContactable: AskContactable;
  /** Wakes the processes that send. */
  wake(): void;
  /** The way for mails to leave; undefined where none is set up. */
  way: (UsualSender & { transport: MailTransport; connections: number }) | undefined;
}

interface Linked {
  store: FileStore;
  addresses: PageAddresses;
  assetAddress(id: number): Promise<string | undefined>;
}

export const NO_TRANSPORT = "No mail transport is set up (MAIL_URL).";
/** The subject by which a process hears that mails, or broadcasts, wait. */
export const SENDS_CHOSEN = "nudge.sends.CONTENT";
/** A mail waits for its values; a page does not. */
const FOR_MAILS = { waitMs: 5_000, isOptional: false };

export function mailParts(
  { config, database, upstreams, bus }: Foundation<ContentConfig>,
  { store, addresses, assetAddress }: Linked,
): MailParts {
  const { MAIL_URL: urls, MAIL_FROM: from, MAIL_CONNECTIONS: connections, MAIL_DKIM_KEYS: dkimKeys } = config;
  const rendering = {
    contacts: knownContacts(database, upstreams, FOR_MAILS),
    labelsOf: fieldLabels(upstreams),
    owners: mailOwners(database, {
      ...{ from, dkimKeys, signature: config.MAIL_SIGNATURE },
      isOwnerMailer: config.MAIL_OWNER_AS_MAILER,
    }),
    links: mailLinks(config.PUBLIC_TOKEN_KEYS, config.PUBLIC_URL, config.MAIL_INBOX_ADDRESS),
    addressOfPage: addresses.find,
    addressOfAsset: async (text: string) => {
      const id = rowIdOf(text);
      return id === undefined ? undefined : assetAddress(id);
    },
  };
  return {
    rendering,
    render: sendRenderer({
      ...{
        ...rendering,
        database,
        hasPixel: config.MAIL_TRACKING_PIXEL,
        tracksLinks: config.MAIL_TRACK_LINKS,
      },
      keepsValues: config.MAIL_TOKENS_DAYS > 0,
    }),
    attachmentsOf: attachmentReader(database, store),
    askContactable: contactableAsker(database, upstreams),
    wake: () => bus.nudge(SENDS_CHOSEN),
    way: urls && from ? { transport: openTransports(urls), from, dkimKeys, connections } : undefined,
  };
}

/** The transports of these URLs as one. Each counts its mails. */
function openTransports(urls: TransportUrl[]): MailTransport {
  const transports = urls.map((url) => countedTransport(openTransport(url)));
  const [only, ...others] = transports;
  // A lone transport is tried each time: there is none to go to.
  return only && others.length === 0 ? only : failoverTransport(transports);
}
