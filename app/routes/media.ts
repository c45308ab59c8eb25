import { redirect } from '@remix-run/node'

/** Where the composer sends its files (server/web/files.ts). There is no page here. */
export function loader() {
  return redirect('/')
}
