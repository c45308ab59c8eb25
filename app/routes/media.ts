import { redirect } from '@remix-run/node'

/** Where the composer sends its files (server/web/files.ts). There is nothing to see. */
export function loader() {
  return redirect('/')
}
