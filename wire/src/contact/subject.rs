//! Who and what a request is about.

use crate::answer::Written;
use crate::json::Object;
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

/// In the answer that shows one, what was left out stays out.
impl Written<Self> for Handle<'_> {
    fn write(out: &mut Vec<u8>, value: &Self) {
        let mut object = Object::open(out);
        object.word("type", value.r#type.word());
        object.text("value", &value.value);
        if let Some(scope) = &value.scope {
            object.text("scope", scope);
        }
        if let Some(kind) = value.subject_kind {
            object.word("subject_kind", kind.word());
        }
        object.close();
    }
}

impl Written<Self> for ObjectRef<'_> {
    fn write(out: &mut Vec<u8>, value: &Self) {
        let mut object = Object::open(out);
        object.text("type", &value.r#type);
        object.text("namespace", &value.namespace);
        object.text("id", &value.id);
        object.close();
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
