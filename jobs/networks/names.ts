const CharactersAtMost = 100
const ReadAtMost = 5000

// Invisible, but they reorder the text around them, or make two names look the same: bidirectional controls (UAX 9),
// joiners and separators without a width, and the characters of annotations and tags.
const Unseen =
  /[\u00AD\u061C\u180E\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\uFEFF\uFFF9-\uFFFB\u{1D173}-\u{1D17A}\u{E0000}-\u{E007F}]/gu
const FlagTags = /(?<=\u{1F3F4}[\u{E0020}-\u{E007F}]{0,8})[\u{E0020}-\u{E007F}]/u // Scotland's flag consists of them

// Joiners are part of an emoji, and of words in scripts whose letters join.
const Joined =
  /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F)\u200D(?=\p{Extended_Pictographic})|(?<=(?!\p{Script=Latin})[\p{L}\p{M}])(?:\u200C|\u200D)(?=(?!\p{Script=Latin})[\p{L}\p{M}])/u

const NotSeen = new RegExp(`(?!${FlagTags.source})${Unseen.source}|(?!${Joined.source})(?:\\u200C|\\u200D)`, 'gu')
const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })

/**
 * The name of an account at a network, as we store and show it: one line, without control and invisible characters. It
 * has at most 100 characters (code points), and ends with a whole grapheme. Empty if nothing is left.
 */
export function plainName(name: string): string {
  let plain = ''
  let left = CharactersAtMost
  for (const { segment } of graphemes.segment(oneLine(name.slice(0, ReadAtMost)))) {
    left -= Array.from(segment).length
    if (left < 0) break
    plain += segment
  }
  return oneLine(plain) // it may end in a joiner now
}

/** `text` without line breaks, control characters and invisible characters. */
export function oneLine(text: string): string {
  return text
    .toWellFormed()
    .replace(/(?![\s\u0085])\p{Cc}/gu, '')
    .replace(NotSeen, '')
    .replace(/[\s\u0085]+/gu, ' ')
    .trim()
}
