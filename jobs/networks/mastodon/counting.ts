import { z } from 'zod'
import type { TextRule } from '../text-length.ts'

const CharactersOfALink = 23 // Mastodon counts each link so, in every version

/** What `/api/v1/instance` and `/api/v2/instance` say about the server's software. */
export const Software = {
  version: z.string().optional().catch(undefined), // "4.5.2", "2.7.2 (compatible; Pleroma 2.10.0)"
  source_url: z.string().optional().catch(undefined), // only v2 has it
}

type SoftwareSaid = { version?: string | undefined; source_url?: string | undefined }

type Counting = Pick<TextRule, 'urlsCountAs' | 'shortensUrls'>

/**
 * How a server counts links in the length of a text. `reserved` is its `characters_reserved_per_url`.
 *
 * Only Mastodon and its forks count by it. Pleroma and Akkoma say that they count characters, and they do. GoToSocial
 * says 25, but counts characters. We don't know how others count (Hollo says 256). There, a link counts in full, and at
 * least as `reserved`.
 */
export function linkCounting({ version = '', source_url = '' }: SoftwareSaid, reserved: number | undefined): Counting {
  if (/gotosocial/i.test(source_url) || /\b(pleroma|akkoma|gotosocial)\b/i.test(version)) return {}
  if (isMastodon({ version, source_url }) && reserved === CharactersOfALink)
    return { urlsCountAs: CharactersOfALink, shortensUrls: true }
  return { urlsCountAs: Math.max(CharactersOfALink, reserved ?? 0) }
}

/** Whether a server says that it runs Mastodon, or a fork that keeps its name and its rules. */
export function isMastodon({ version = '', source_url = '' }: SoftwareSaid): boolean {
  return /^[2-9]\.\d+\.\d+[^()]*$/.test(version) && /\/mastodon(\/|$)/i.test(source_url)
}
