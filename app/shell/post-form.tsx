import { Form, type FormProps } from '@remix-run/react'
import { useAccount } from './account.ts'

/**
 * A form that changes something of the organisation. It says which one the page shows: another tab may have switched,
 * and then `formOf` in app/api.ts refuses the form.
 */
export function PostForm({ children, ...rest }: Omit<FormProps, 'method'>) {
  return (
    <Form method="post" {...rest}>
      <ForOrganisation />
      {children}
    </Form>
  )
}

function ForOrganisation() {
  const organisationId = useAccount()?.organisationId
  return organisationId ? <input type="hidden" name="forOrganisation" value={organisationId} /> : null
}
