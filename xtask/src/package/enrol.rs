//! Enrolment of a key in a guest's firmware: its kernel then accepts modules signed with that key.

/// The variable with the certificates that may sign boot programs, from UEFI's specification.
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

/// The contents for the variable's file in efivarfs: the attributes, a header with a date, and a list of one
/// certificate. The header has no signature, which firmware without an owner's key does not require.
pub(super) fn database(certificate: &[u8]) -> Vec<u8> {
    let mut bytes = ATTRIBUTES.to_le_bytes().to_vec();
    // EFI_TIME: the year, the month, the day, and midnight.
    bytes.extend(2026_u16.to_le_bytes());
    bytes.extend([1, 1]);
    bytes.extend([0; 12]);
    // WIN_CERTIFICATE_UEFI_GUID: its length, revision, type and the kind of the (absent) data.
    bytes.extend(24_u32.to_le_bytes());
    bytes.extend(0x0200_u16.to_le_bytes());
    bytes.extend(0x0ef1_u16.to_le_bytes());
    bytes.extend(PKCS7);
    // EFI_SIGNATURE_LIST: its kind, its length, the length of its header, and the length of each entry.
    let entry = (OWNER.len() + certificate.len()) as u32;
    bytes.extend(X509);
    for length in [28 + entry, 0, entry] {
        bytes.extend(length.to_le_bytes());
    }
    bytes.extend(OWNER);
    bytes.extend(certificate);
    bytes
}
