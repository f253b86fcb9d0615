//! Who and what a request is about.

use crate::read::request;
use crate::value::{HandleValue, Label, LongLabel, one_of};

request! {
    /// A customer, named by one handle.
    Handle<'a> {
        /// What kind of handle.
        r#type: required HandleType,
        /// The handle.
        value: required HandleValue<'a>,
        /// The system the handle is of, where handles of several could look alike.
        scope: optional Label<'a>,
        /// What kind of customer.
        subject_kind: optional SubjectKind,
    }
}

request! {
    /// A record in some system.
    ObjectRef<'a> {
        /// What kind of record.
        r#type: required Label<'a>,
        /// The system.
        namespace: required Label<'a>,
        /// Its id there.
        id: required LongLabel<'a>,
    }
}

one_of! {
    /// What kind of handle.
    HandleType: "one of `phone_e164`, `wa_id`, `wa_jid`, `wa_lid`, `wa_bsuid`, `email`, `gov_id_hmac`, \
        `app_user_id`, `system_id`, `org_registry_hmac`, `email_domain`, `anon_id`" {
        /// A phone number.
        PhoneE164 = "phone_e164",
        /// A WhatsApp number.
        WaId = "wa_id",
        /// A WhatsApp address.
        WaJid = "wa_jid",
        /// A WhatsApp id that hides the number.
        WaLid = "wa_lid",
        /// A WhatsApp id scoped to a business.
        WaBsuid = "wa_bsuid",
        /// An e-mail address.
        Email = "email",
        /// A government id, already hashed.
        GovIdHmac = "gov_id_hmac",
        /// An id of an app.
        AppUserId = "app_user_id",
        /// An id of another system.
        SystemId = "system_id",
        /// A company's registration, already hashed.
        OrgRegistryHmac = "org_registry_hmac",
        /// A company's domain.
        EmailDomain = "email_domain",
        /// Somebody unknown.
        AnonId = "anon_id",
    }
}

one_of! {
    /// What kind of customer.
    SubjectKind: "one of `person`, `account`, `partner`, `staff`" {
        /// A person.
        Person = "person",
        /// A company or household.
        Account = "account",
        /// A partner.
        Partner = "partner",
        /// One of the company's own.
        Staff = "staff",
    }
}
