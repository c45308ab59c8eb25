import { json } from '@remix-run/node'

/** Every path that no other route serves. It has a loader so that the root's loader runs too, and the page keeps its navigation. */
export function loader() {
  throw json(null, { status: 404 })
}

export default function Nothing() {
  return null
}
