import { sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { type BrowserSite, inBrowser } from '../browser.ts'
import { aMember, type Member, savedIn, textOf } from '../member.ts'

// What changes elsewhere while a text is written is not changed back by saving the text.

let here: BrowserSite
let member: Member
inBrowser(
  (site) => {
    here = site
  },
  async () => {
    member = await aMember(here, { timeZone: 'Europe/Berlin' })
  },
)

describe('an alt text', () => {
  let photo: string
  let path: string
  beforeEach(async () => {
    photo = await member.uploadPhoto('A hill')
    const { channelIds } = member
    path = `/posts/${await member.makePost({ channelIds, type: 'draft', content: 'Our hill', mediaIds: [photo] })}`
    await member.page.goto(path)
  })
  const alt = async () => (await member.callApi<{ alt: string }>('GET', `/media/${photo}`)).alt
  const save = async () => {
    await member.page.getByRole('button', { name: 'Save draft' }).click()
    await member.page.getByText('The draft is saved.').waitFor()
  }

  test('that a caller changes meanwhile stays as it is', async () => {
    const { page } = member
    await textOf(page).fill('Our green hill')
    await savedIn(page)
    await member.callApi('PATCH', `/media/${photo}`, { alt: 'A green hill' })
    await save()
    expect(await alt()).toBe('A green hill')

    await textOf(page).fill('Our very green hill')
    await savedIn(page)
    await member.callApi('PATCH', `/media/${photo}`, { alt: 'A very green hill' })
    await page.reload()
    await expect.poll(() => page.getByLabel('Alt text').inputValue()).toBe('A very green hill')
    await save()
    expect(await alt()).toBe('A very green hill')
  })

  test('that is typed is saved with the post, once, and not if the post is refused', async () => {
    const { page } = member
    await page.getByLabel('Alt text').fill('A mountain')
    await page.getByLabel('Date').fill('2001-01-01')
    await page.getByRole('button', { name: 'Schedule' }).click()
    await page.locator('#when-date[aria-invalid]').waitFor()
    expect(await alt()).toBe('A hill')

    await page.getByLabel('Date').fill('2031-01-01')
    await save()
    expect(await alt()).toBe('A mountain')
    await member.callApi('PATCH', `/media/${photo}`, { alt: 'A caller’s mountain' })
    await textOf(page).fill('Our mountain')
    await save()
    expect(await alt()).toBe('A caller’s mountain')
  })
})

describe('the time zone of the person', () => {
  const date = '2031-05-06T08:00:00.000Z'
  let id: string
  beforeEach(async () => {
    id = await member.makePost({ channelIds: member.channelIds, type: 'schedule', date })
    const { page } = member
    await page.goto(`/posts/${id}`)
    await textOf(page).fill('With one more letter')
    await savedIn(page)
    await here.db.execute(sql`
      update accounts set time_zone = 'America/New_York' where id = ${member.accountId}`)
  })
  const time = () => member.page.getByLabel('Time', { exact: true })
  const save = async () => {
    await member.page.getByRole('button', { name: 'Save changes' }).click()
    await member.page.getByText('Your changes are saved.').waitFor()
  }

  test('changes no date of a page that is open', async () => {
    expect(await time().inputValue()).toBe('10:00')
    await save()
    expect(await member.readPost(id)).toMatchObject({ content: 'With one more letter', date })
    await expect.poll(() => time().inputValue()).toBe('04:00')
    await textOf(member.page).fill('With two more letters')
    await savedIn(member.page)
    await save()
    expect(await member.readPost(id)).toMatchObject({ content: 'With two more letters', date })
  })

  test('changes no date of an unfinished text', async () => {
    await member.page.goto(`/posts/${id}`)
    await expect.poll(() => time().inputValue()).toBe('04:00')
    await expect.poll(() => textOf(member.page).inputValue()).toBe('With one more letter')
    await save()
    expect(await member.readPost(id)).toMatchObject({ content: 'With one more letter', date })
  })

  test('changes no chosen date of a new post', async () => {
    const { page } = member
    await here.db.execute(sql`update accounts set time_zone = 'Europe/Berlin' where id = ${member.accountId}`)
    await page.goto('/posts/new')
    await textOf(page).fill('For breakfast')
    await page.getByLabel('Date').fill('2031-07-08')
    await time().fill('10:00')
    await savedIn(page)
    await here.db.execute(sql`update accounts set time_zone = 'America/New_York' where id = ${member.accountId}`)
    await page.reload()
    await expect.poll(() => time().inputValue()).toBe('04:00')
    await page.getByRole('button', { name: 'Schedule' }).click()
    await page.getByText('The post is scheduled.').waitFor()
    const made = new URL(page.url()).pathname.split('/').at(-1)!
    expect(await member.readPost(made)).toMatchObject({ date: '2031-07-08T08:00:00.000Z' })
  })
})
