import { Form, type FormProps } from '@remix-run/react'
import { forwardRef } from 'react'
import { useAccount } from './account.ts'

/**
 * A form that changes something of the organisation. It says which one the page shows: another tab may have switched,
 * and then `formOf` in app/api.ts refuses the form.
 */
export const PostForm = forwardRef<HTMLFormElement, Omit<FormProps, 'method'>>(function PostForm(
  { children, ...rest },
  ref,
) {
  return (
    <Form method="post" {...rest} ref={ref}>
      <ForOrganisation />
      {children}
    </Form>
  )
})

function ForOrganisation() {
  const organisationId = useAccount()?.organisationId
  return organisationId ? <input type="hidden" name="forOrganisation" value={organisationId} /> : null
}
