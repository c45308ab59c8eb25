import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

/** Keys of 32 bytes: the first seals, all open. Rotation puts a new one in front. */
export type KeyRing = readonly [Uint8Array, ...Uint8Array[]]

/** Where a secret is kept. Bound into the seal, so that bytes copied to another row, field or organisation do not open. */
export type Place = {
  table: string
  id: string
  organisationId: string | null // null: of a mail that belongs to no organisation
  field: string
}

const FormatVersion = 1
const NonceBytes = 12
const TagBytes = 16
const KeyIdBytes = 4
const HeaderBytes = 1 + KeyIdBytes + NonceBytes + TagBytes

/**
 * Encrypt `text` for `place` with AES-256-GCM (NIST SP 800-38D), under the first key of `ring`.
 *
 * Returns format version (1 byte), key id (4), nonce (12), tag (16), ciphertext: what a bytea column takes.
 */
export function seal(ring: KeyRing, place: Place, text: string): Uint8Array {
  const nonce = randomBytes(NonceBytes)
  const cipher = createCipheriv('aes-256-gcm', ring[0], nonce).setAAD(additionalData(place))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return Buffer.concat([Buffer.of(FormatVersion), keyId(ring[0]), nonce, cipher.getAuthTag(), sealed])
}

/**
 * Decrypt what `seal` returned for the same `place`.
 *
 * Throws SealError when no key of `ring` sealed it, or when bytes or place were changed.
 */
export function open(ring: KeyRing, place: Place, bytes: Uint8Array): string {
  const at = `${place.table}.${place.field} of ${place.id}`
  if (bytes.length < HeaderBytes || bytes[0] !== FormatVersion) throw new SealError(`${at} is not a sealed value.`)
  const [id, nonce, tag, sealed] = [
    bytes.subarray(1, 5),
    bytes.subarray(5, 17),
    bytes.subarray(17, HeaderBytes),
    bytes.subarray(HeaderBytes),
  ]
  const key = ring.find((candidate) => keyId(candidate).equals(id))
  if (!key) throw new SealError(`${at} was sealed with a key that SECRET_KEYS no longer holds.`)
  const decipher = createDecipheriv('aes-256-gcm', key, nonce).setAAD(additionalData(place)).setAuthTag(tag)
  try {
    return Buffer.concat([decipher.update(sealed), decipher.final()]).toString('utf8')
  } catch (cause) {
    throw new SealError(`${at} was changed, or moved from another place.`, { cause })
  }
}

/** Whether the first key of `ring` sealed `bytes`. */
export function isSealedAnew(ring: KeyRing, bytes: Uint8Array): boolean {
  return keyId(ring[0]).equals(bytes.subarray(1, 1 + KeyIdBytes))
}

/** How the keys of `ring` are named in what they seal: its bytes 2 to 5. */
export function keyIdsOf(ring: KeyRing): Buffer[] {
  return ring.map(keyId)
}

export class SealError extends Error {}

function additionalData({ table, id, organisationId, field }: Place): Buffer {
  return Buffer.from(JSON.stringify([table, id, organisationId, field]))
}

function keyId(key: Uint8Array): Buffer {
  return createHash('sha256').update('punctual key id').update(key).digest().subarray(0, KeyIdBytes)
}
