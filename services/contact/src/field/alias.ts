import { freeAlias } from "@tidings/store/alias";
import anyAscii from "any-ascii";
import { COMPANY_COLUMNS } from "../rows/company.ts";
import { CONTACT_COLUMNS } from "../rows/contact.ts";

const LENGTH_MAX = 25;

/** Words that mean something to whoever writes SQL for the fields of contacts (reserved in SQL:2016 and its larger dialects). */
const SQL_WORDS = new Set(
  `add all alter analyze and any array as asc before between both by call cascade case change check column condition
  constraint continue convert create cross cube current_date current_time current_timestamp current_user cursor
  database databases day_hour dec decimal declare default delayed delete desc describe distinct div double drop dual
  each else elseif empty end escaped except exists exit explain false fetch float for force foreign from full fulltext
  function generated get grant group grouping groups having if ignore in index infile inner inout insert int integer
  intersect interval into is iterate join key keys kill lateral leading leave left like limit linear lines load
  localtime localtimestamp lock long loop match mod natural not null numeric of offset on only optimize option or order
  out outer outfile over partition placing precision primary procedure purge range rank read reads real recursive
  references regexp release rename repeat replace require restrict return returning revoke right row rows schema
  schemas select sensitive separator session_user set show similar smallint some spatial sql ssl starting symmetric
  system table terminated then to trailing trigger true undo union unique unlock unsigned update usage use user using
  values varchar variadic varying verbose when where while window with write xor`.split(/\s+/),
);

/** Names that mean something else in a body, a filter or a row. */
const RESERVED = new Set([
  ...[...CONTACT_COLUMNS, ...COMPANY_COLUMNS].map(({ name }) => name),
  // What every object answers to: a row that has no such field would seem to have one.
  ...Object.getOwnPropertyNames(Object.prototype),
  ...`seen_version contact_id company_id fields all tags tag owner stage companies color category ip ip_addresses utm_tags utmtags
    overwritewithblank ipaddress donotcontact frequencyrules lastactive dateadded datemodified dateidentified
    createdby createdbyuser modifiedby modifiedbyuser ispublished ownerid values force
    field_revision campaign device_type device_brand device_os device_model dnc_bounced dnc_unsubscribed
    dnc_manual_email dnc_bounced_sms dnc_unsubscribed_sms dnc_manual_sms globalcategory leadlist utm_campaign
    utm_content utm_medium utm_source utm_term lead_asset_download lead_email_received lead_email_sent
    lead_email_sent_date lead_email_read_count lead_email_read_date email_id email_clicked_link_date hit_url
    hit_url_count hit_url_date page_id redirect_id referer sessions source source_id url_title sms_clicked_link
    sms_clicked_link_date notification is ids name segment common company_id email_sent email_read email_queued
    email_pending sms_sent web_sent mobile_sent page_source page_source_id import_id import_action mine`.split(
    /\s+/,
  ),
]);

/** A reserved word may not be asked for; what is made of a label avoids it. */
export function isReservedAlias(text: string): boolean {
  return RESERVED.has(latinWord(text));
}

/** The alias made of a label or of what was asked for, unlike all that are taken: `shoe_size`, `shoe_size1`. */
export function fieldAlias(text: string, isTaken: (alias: string) => boolean, firstSuffix: number): string {
  const isUnusable = (alias: string) => RESERVED.has(alias) || isTaken(alias);
  return freeAlias(cleanAlias(text), isUnusable, { firstSuffix, lengthMax: LENGTH_MAX });
}

/** Latin letters, digits and underscores, at most 25. */
function latinWord(text: string): string {
  return anyAscii(text)
    .toLowerCase()
    .trim()
    .replaceAll(/\s+/g, "_")
    .replaceAll(/[^a-z0-9_]/g, "")
    .slice(0, LENGTH_MAX)
    .replace(/_$/, "");
}

/** The same, beginning with a letter and no word of SQL. */
function cleanAlias(text: string): string {
  const alias = latinWord(text);
  const isUsable = /^[a-z]/.test(alias) && !SQL_WORDS.has(alias);
  return isUsable ? alias : `f_${alias}`.slice(0, LENGTH_MAX).replace(/_$/, "_field");
}
