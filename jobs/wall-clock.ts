import { DateTime, IANAZone } from 'luxon'

// The instants at which a clock in a time zone shows a date and a time. Pages use it too, so it imports nothing of ours.

/**
 * The instant that a clock in `zone` shows as `date` (yyyy-mm-dd) and `time` (hh:mm). A time that the clocks skip
 * becomes the first instant after it. Of a time that they show twice, it is the earlier one. Null when the date or the
 * time is not valid.
 */
export function instantOf(date: string, time: string, zone: string): Date | null {
  const found = instantsOf(date, time, zone)
  if (!found) return null
  const { clock, candidates, shown } = found
  if (shown.length > 0) return new Date(Math.min(...shown))
  return new Date(changeBetween(clock, Math.min(...candidates), Math.max(...candidates)))
}

// ICU takes them too, and means other places than people do: its BST is Bangladesh, its AST Alaska.
const NoZones = /^(A[CEGRS]T|B[ES]T|C[ANS]T|CTT|EAT|ECT|I[ES]T|JST|MIT|N[ES]T|P[LNRS]T|SST|VST|SystemV\/.*)$/i

/** Whether `name` is that of a time zone in the IANA database. */
export function isZone(name: string): boolean {
  if (NoZones.test(name)) return false
  try {
    // A bare offset is taken as well, but knows nothing of summer.
    return /^[a-z]/i.test(new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone)
  } catch {
    return false
  }
}

/** Whether clocks in `zone` show this date and time twice, because they are set back. */
export function isShownTwice(date: string, time: string, zone: string): boolean {
  return new Set(instantsOf(date, time, zone)?.shown).size > 1
}

/** The instants (ms) that a date and a time may be, and those of them at which the clock really shows them. */
function instantsOf(date: string, time: string, zone: string) {
  if (!/^\d{4}-\d\d-\d\d$/.test(date) || !/^\d\d:\d\d$/.test(time)) return null // no year that a clock can't have
  const written = DateTime.fromISO(`${date}T${time}`, { zone: 'utc' })
  if (!written.isValid) return null
  const clock = IANAZone.create(zone)
  const wallMs = written.toMillis()
  // No zone changes twice within two days, so these are the offsets that may apply.
  const around = [-1, 1].map((days) => written.plus({ days }).toMillis())
  const offsets = around.map((ms) => clock.offset(ms))
  const candidates = offsets.map((minutes) => wallMs - minutes * 60_000)
  const shown = candidates.filter((ms) => ms + clock.offset(ms) * 60_000 === wallMs)
  return { clock, candidates, shown }
}

/** The first instant (ms) after `before` at which the clock has the offset that it has at `after`. */
function changeBetween(clock: IANAZone, before: number, after: number): number {
  if (after - before <= 1) return after
  const middle = Math.floor((before + after) / 2)
  return clock.offset(middle) === clock.offset(after)
    ? changeBetween(clock, before, middle)
    : changeBetween(clock, middle, after)
}
