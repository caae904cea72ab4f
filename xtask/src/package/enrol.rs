//! A key among those that a guest's firmware trusts: its kernel takes modules that are signed with it.

/// The variable, of UEFI's specification, with the certificates that may sign what is booted.
pub(super) const VARIABLE: &str = "db-d719b2cb-3d3a-4596-a3bc-dad00e67656f";

/// Non-volatile, for boot and run time, with a date.
const ATTRIBUTES: u32 = 0x27;
/// EFI_CERT_TYPE_PKCS7_GUID
const PKCS7: [u8; 16] =
    [0x9d, 0xd2, 0xaf, 0x4a, 0xdf, 0x68, 0xee, 0x49, 0x8a, 0xa9, 0x34, 0x7d, 0x37, 0x56, 0x65, 0xa7];
/// EFI_CERT_X509_GUID
const X509: [u8; 16] =
    [0xa1, 0x59, 0xc0, 0xa5, 0xe4, 0x94, 0xa7, 0x4a, 0x87, 0xb5, 0xab, 0x15, 0x5c, 0x2b, 0xf0, 0x72];
/// The enroller; any will do.
const OWNER: [u8; 16] = *b"kinst/packaging/";

/// What is written to the variable's file in efivarfs: the attributes, a head with a date and no signature, which firmware without
/// an owner's key does not ask for, and a list of one certificate.
pub(super) fn database(certificate: &[u8]) -> Vec<u8> {
    let mut bytes = ATTRIBUTES.to_le_bytes().to_vec();
    // EFI_TIME: the year, the month, the day, and midnight.
    bytes.extend(2026_u16.to_le_bytes());
    bytes.extend([1, 1]);
    bytes.extend([0; 12]);
    // WIN_CERTIFICATE_UEFI_GUID: its length, revision, type and the kind of the data that does not follow.
    bytes.extend(24_u32.to_le_bytes());
    bytes.extend(0x0200_u16.to_le_bytes());
    bytes.extend(0x0ef1_u16.to_le_bytes());
    bytes.extend(PKCS7);
    // EFI_SIGNATURE_LIST: its kind, its length, the length of its head, and that of each entry.
    let entry = (OWNER.len() + certificate.len()) as u32;
    bytes.extend(X509);
    for length in [28 + entry, 0, entry] {
        bytes.extend(length.to_le_bytes());
    }
    bytes.extend(OWNER);
    bytes.extend(certificate);
    bytes
}
