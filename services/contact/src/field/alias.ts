import { freeAlias } from "@tidings/resource/alias";
import { FIELD_WORD_MAX, fieldWord, latinWord } from "@tidings/resource/field-word";
import { COMPANY_COLUMNS } from "../rows/company.ts";
import { CONTACT_COLUMNS } from "../rows/contact.ts";

/** Names that mean something else in a body, a filter or a row. */
const RESERVED = new Set([
  ...[...CONTACT_COLUMNS, ...COMPANY_COLUMNS].map(({ name }) => name),
  // Names that every object has: a row without such a field would seem to have one.
  ...Object.getOwnPropertyNames(Object.prototype),
  ...`seen_version contact_id company_id fields all tags tag owner stage companies color category ip ip_addresses utm_tags utmtags
    group_scores added_fields
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
  return RESERVED.has(latinWord(text, FIELD_WORD_MAX));
}

/** The alias made of a label or of what was asked for, unlike all that are taken: `shoe_size`, `shoe_size1`. */
export function fieldAlias(text: string, isTaken: (alias: string) => boolean, firstSuffix: number): string {
  const isUnusable = (alias: string) => RESERVED.has(alias) || isTaken(alias);
  return freeAlias(fieldWord(text), isUnusable, { firstSuffix, lengthMax: FIELD_WORD_MAX });
}
