import { eq } from 'drizzle-orm'
import type { Tx } from '../../db/client.ts'
import { memberships, organisations } from '../../db/schema/accounts.ts'
import { Failure } from '../errors.ts'

/** What an attacker would try first: the person's e-mail, and names from the account. */
export type Guesses = { email: string; names: string[] }

const Product = 'Punctual'

/**
 * Throws `unprocessable`, beside the field `password`, for a password that attackers try first: one of the 49,000 most
 * common, the person's e-mail or what is before its @, the name of an organisation of theirs or of this product; as it
 * stands, or with up to four digits or signs before and after it.
 */
export async function requireHardToGuess(password: string, { email, names }: Guesses): Promise<void> {
  const common = await commonPasswords()
  const tried = spellingsOf(password)
  const own = [email, email.split('@')[0]!, ...names, Product].map(lettersOf).filter(Boolean)
  if (tried.some((spelling) => own.includes(lettersOf(spelling))))
    throw refusal('Do not use your e-mail address or a name that goes with your account. Choose another password.')
  if (tried.some((spelling) => common.has(spelling)))
    throw refusal('This is one of the passwords that attackers try first. Choose another one.')
}

/** What the person and their organisations are called. */
export async function namesOf(db: Tx, { id, name }: { id: string; name: string }): Promise<string[]> {
  const theirs = await db
    .select({ name: organisations.name })
    .from(organisations)
    .innerJoin(memberships, eq(memberships.organisationId, organisations.id))
    .where(eq(memberships.accountId, id))
  return [name, ...theirs.map((organisation) => organisation.name)]
}

function refusal(message: string): Failure {
  return new Failure('unprocessable', { errors: [{ path: 'password', code: 'password_easy_to_guess', message }] })
}

function spellingsOf(password: string): string[] {
  const plain = password.normalize('NFKC').toLowerCase().trim()
  const core = plain.replace(/^[^\p{L}]{0,4}/u, '').replace(/[^\p{L}]{0,4}$/u, '')
  return core === '' ? [plain] : [plain, core]
}

// Without spaces, dots and the like: attackers try those too.
function lettersOf(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
}

// Loaded at its first use: half a megabyte that only web and a few commands need.
let list: Promise<Set<string>> | undefined

function commonPasswords(): Promise<Set<string>> {
  list ??= import('@zxcvbn-ts/language-common').then(({ dictionary }) => new Set(dictionary['passwords-common']))
  return list
}
