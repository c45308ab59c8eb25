import { useSearchParams } from '@remix-run/react'

const kept = ['view', 'date', 'channel', 'status', 'tag', 'free', 'page'] as const

/** The address of the calendar: what it shows now, with `changes`. An empty value is left out. */
export type AddressOf = (changes?: Partial<Record<(typeof kept)[number] | 'post', string>>) => string

/** Makes addresses of the calendar from the page's own. */
export function useAddress(): AddressOf {
  const [now] = useSearchParams()
  return (changes = {}) => {
    const query = new URLSearchParams()
    for (const name of kept) if (now.get(name)) query.set(name, now.getAll(name).at(-1)!)
    for (const [name, value] of Object.entries(changes)) value ? query.set(name, value) : query.delete(name)
    return query.size > 0 ? `/calendar?${query}` : '/calendar'
  }
}

/** Whether an address asks for the free times of queues. The form sends 0, and after it 1 if its box is checked. */
export function asksForFreeTimes(query: URLSearchParams): boolean {
  return query.getAll('free').at(-1) !== '0'
}

/** The page of the list that an address asks for, from 1. */
export function pageIn(query: URLSearchParams): number {
  const page = query.get('page') ?? ''
  return /^[1-9]\d{0,2}$/.test(page) ? Number(page) : 1
}
