import { instantOf } from '../../../jobs/wall-clock.ts'

/** What a form with filters asks for: the fields of these names that are not empty. */
export function askedOf(request: Request, names: string[]): Record<string, string> {
  const { searchParams } = new URL(request.url)
  return Object.fromEntries(names.flatMap((name) => (searchParams.get(name) ? [[name, searchParams.get(name)!]] : [])))
}

/** The same with the days `from` and `to`, both included, as instants of `zone`. The schema refuses a text that is not a day. */
export function withInstants({ from, to, ...rest }: Record<string, string>, zone: string): Record<string, string> {
  const at = (day: string, time: string) => instantOf(day, time, zone)?.toISOString() ?? day
  return { ...rest, ...(from ? { from: at(from, '00:00') } : {}), ...(to ? { to: at(to, '24:00') } : {}) }
}
