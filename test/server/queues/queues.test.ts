import { sql } from 'drizzle-orm'
import { DateTime } from 'luxon'
import { beforeEach, describe, expect, test } from 'vitest'
import { someoneWaits } from '../../postgres/database.ts'
import { until } from '../../processes.ts'
import { expectProblem, faultsOf, webWithChannel } from '../web.ts'
import { aQueue, everyHour, inQueue, queuePost } from './queue-calls.ts'

const w = webWithChannel()
beforeEach(() => w.db.execute('delete from posts') as Promise<unknown>)
beforeEach(() => w.db.execute('delete from queues') as Promise<unknown>)

describe('a post of the type queue', () => {
  test('takes the next free time of the default queue, and is a scheduled post with that date', async () => {
    const queue = await aQueue(w)
    const { json: next } = await w.call('GET', `/queues/${queue.id}/next?limit=3`)
    const posts = [await queuePost(w), await queuePost(w, { queueId: queue.id }), await queuePost(w)]
    for (const { status, json } of posts) {
      expect(status).toBe(201)
      expect(json).toMatchObject({ type: 'schedule', status: 'SCHEDULED', queueId: queue.id })
    }
    expect(posts.map(({ json }) => json.date)).toEqual(next.dates)
    const { json } = await w.call('GET', `/posts/${posts[0]!.json.id}`)
    expect(json).toEqual(posts[0]!.json)
  })

  test('keeps the wall clock of its queue', async () => {
    await aQueue(w, { timeZone: 'America/St_Johns', times: [{ weekday: 3, time: '17:30' }] })
    const { json } = await queuePost(w)
    const clock = DateTime.fromISO(json.date, { zone: 'America/St_Johns' })
    expect([clock.weekday, clock.toFormat('HH:mm')]).toEqual([3, '17:30'])
    expect(clock > DateTime.now()).toBe(true)
  })

  test('is refused with all problems at once', async () => {
    await aQueue(w)
    const other = await w.channel()
    const refused = await queuePost(w, { channelIds: [w.channelId, other, 'x'], content: '' })
    expectProblem(refused, 422, 'unprocessable')
    expect(faultsOf(refused).sort()).toEqual([
      'channelIds[1] channel_not_in_queue',
      'channelIds[2] channel_not_found',
      'content content_empty',
    ])
  })

  test('is refused without a queue, in one that is paused, without times or full, and with a date', async () => {
    expect(faultsOf(await queuePost(w))).toEqual(['queueId queue_not_found'])
    const { id } = await aQueue(w)
    expect(faultsOf(await queuePost(w, { queueId: 'x' }))).toEqual(['queueId queue_not_found'])
    expect(faultsOf(await queuePost(w, { date: '2030-01-01T00:00:00Z' }))).toEqual(['date wrong_type'])
    expectProblem(await queuePost(w, { channelIds: [] }), 400, 'invalid_request')
    await w.call('PATCH', `/queues/${id}`, { json: { paused: true } })
    expect(faultsOf(await queuePost(w))).toEqual(['queueId queue_paused'])
    await w.call('PATCH', `/queues/${id}`, { json: { paused: false, times: [] } })
    expect(faultsOf(await queuePost(w))).toEqual(['queueId queue_has_no_times'])
    const times = [{ weekday: 5, time: '17:30' }]
    await w.call('PATCH', `/queues/${id}`, { json: { timeZone: 'UTC', times } })
    const { json: first } = await queuePost(w)
    await w.db.execute(sql`
      insert into posts (id, organisation_id, type, date, content, told, created_by_kind, created_by_id, created_by_name, queue_id, queue_date)
      select gen_random_uuid(), p.organisation_id, p.type, at, '', p.told, 'member', p.created_by_id, '', p.queue_id, at
      from posts p, generate_series(p.date + interval '7 days', p.date + interval '5 years', interval '7 days') as at
      where p.id = ${first.id}`)
    expect(faultsOf(await queuePost(w))).toEqual(['queueId queue_full'])
  })

  test('is checked without taking a time', async () => {
    await aQueue(w)
    const json = inQueue({ channelIds: [w.channelId] })
    const answers = [
      await w.call('POST', '/posts/validate', { json }),
      await w.call('POST', '/posts/validate', { json }),
    ]
    for (const answer of answers) expect(answer.json).toEqual({ valid: true, errors: [] })
    const other = await w.channel()
    const { json: invalid } = await w.call('POST', '/posts/validate', { json: inQueue({ channelIds: [other] }) })
    expect(invalid).toMatchObject({ valid: false, errors: [{ path: 'channelIds[0]', code: 'channel_not_in_queue' }] })
  })

  test('sent twice with an Idempotency-Key takes one time', async () => {
    await aQueue(w)
    const json = inQueue({ channelIds: [w.channelId] })
    const headers = { 'idempotency-key': 'queued-once' }
    const [first, second] = [
      await w.call('POST', '/posts', { json, headers }),
      await w.call('POST', '/posts', { json, headers }),
    ]
    expect(second.json).toEqual(first.json)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
  })
})

describe('a post in a queue', () => {
  test('leaves it with a date of its own, and frees its time', async () => {
    const { id } = await aQueue(w)
    const { json: post } = await queuePost(w)
    const date = DateTime.fromISO(post.date).plus({ minutes: 7 }).toUTC().toISO()
    const { json: moved } = await w.call('PATCH', `/posts/${post.id}`, { json: { date } })
    expect(moved).toMatchObject({ queueId: null, date, type: 'schedule' })
    const { json: next } = await queuePost(w)
    expect(next.date).toBe(post.date)
    // Its old date, which another post has now, is no way back into the queue.
    const { status, json: back } = await w.call('PATCH', `/posts/${post.id}`, { json: { date: post.date } })
    expect([status, back.queueId]).toEqual([200, null])
    expect((await w.call('GET', `/queues/${id}/next?limit=1`)).json.dates[0] > post.date).toBe(true)
  })

  test('stays in it when it is edited, also with the date that it has', async () => {
    const { id } = await aQueue(w)
    const { json: post } = await queuePost(w)
    for (const json of [
      { content: 'new' },
      { date: post.date },
      { content: 'newer', date: post.date, channelIds: [w.channelId] },
    ]) {
      const { json: edited } = await w.call('PATCH', `/posts/${post.id}`, { json })
      expect(edited).toMatchObject({ queueId: id, date: post.date })
    }
    const refused = await w.call('PATCH', `/posts/${post.id}`, {
      json: { channelIds: [w.channelId, await w.channel()] },
    })
    expect(faultsOf(refused)).toEqual(['channelIds[1] channel_not_in_queue'])
  })

  test('frees its time when it is cancelled', async () => {
    await aQueue(w)
    const { json: post } = await queuePost(w)
    expect((await w.call('DELETE', `/posts/${post.id}`)).status).toBe(204)
    expect((await queuePost(w)).json.date).toBe(post.date)
  })

  test('keeps its date when its queue is deleted', async () => {
    const { id } = await aQueue(w)
    const { json: post } = await queuePost(w)
    expect((await w.call('DELETE', `/queues/${id}`)).status).toBe(204)
    expect((await w.call('GET', `/posts/${post.id}`)).json).toMatchObject({
      queueId: null,
      date: post.date,
      status: 'SCHEDULED',
    })
    expectProblem(await w.call('GET', `/queues/${id}`), 404, 'not_found')
  })

  test('does not move when the times of its queue change', async () => {
    const { id } = await aQueue(w)
    const { json: post } = await queuePost(w)
    await w.call('PATCH', `/queues/${id}`, { json: { times: [{ weekday: 1, time: '00:01' }], timeZone: 'Asia/Tokyo' } })
    expect((await w.call('GET', `/posts/${post.id}`)).json).toEqual(post)
  })

  test('comes from a draft, which takes a time, and not from a scheduled post', async () => {
    const { id } = await aQueue(w)
    const draft = { type: 'draft', content: 'x', channelIds: [w.channelId] }
    const { json: made } = await w.call('POST', '/posts', { json: draft })
    const put = (postId: string, json: object) => w.call('PATCH', `/posts/${postId}`, { json })
    expect(faultsOf(await put(made.id, { type: 'queue', date: '2030-01-01T00:00:00Z' }))).toEqual(['date invalid'])
    expect(faultsOf(await put(made.id, { queueId: id }))).toEqual(['queueId invalid'])
    expect(faultsOf(await put(made.id, { type: 'queue', channelIds: [] }))).toEqual(['channelIds required'])
    expect(faultsOf(await put(made.id, { type: 'queue', channelIds: [await w.channel()] }))).toEqual([
      'channelIds[0] channel_not_in_queue',
    ])
    const { json: queued } = await put(made.id, { type: 'queue' })
    expect(queued).toMatchObject({ type: 'schedule', queueId: id, status: 'SCHEDULED' })
    expect(queued.date).not.toBeNull()
    expect(faultsOf(await put(made.id, { type: 'queue' }))).toEqual(['type type_cannot_change'])
  })
})

describe('a queue', () => {
  test('is created, read, listed, changed and deleted', async () => {
    const made = await w.call('POST', '/queues', {
      json: {
        name: 'Evenings',
        timeZone: 'Europe/Berlin',
        times: [
          { weekday: 5, time: '17:30' },
          { weekday: 1, time: '09:00' },
        ],
        channelIds: [w.channelId],
      },
    })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toMatch(new RegExp(`/queues/${made.json.id}$`))
    const queue = {
      id: made.json.id,
      name: 'Evenings',
      isDefault: true,
      timeZone: 'Europe/Berlin',
      times: [
        { weekday: 1, time: '09:00' },
        { weekday: 5, time: '17:30' },
      ],
      channelIds: [w.channelId],
      pausedAt: null,
    }
    expect(made.json).toEqual(queue)
    expect((await w.call('GET', `/queues/${queue.id}`)).json).toEqual(queue)
    const changed = { ...queue, name: 'Late', timeZone: 'Asia/Tokyo', times: [] }
    const { name, timeZone, times } = changed
    expect((await w.call('PATCH', `/queues/${queue.id}`, { json: { name, timeZone, times } })).json).toEqual(changed)
    expect((await w.call('GET', '/queues')).json).toEqual({ data: [changed], nextCursor: null })
    expect((await w.call('DELETE', `/queues/${queue.id}`)).status).toBe(204)
    expect((await w.call('GET', '/queues')).json.data).toEqual([])
  })

  test('is the default one if it is the first, or made so, and is then not deleted while there are others', async () => {
    const first = await aQueue(w, { name: 'First' })
    const second = await aQueue(w, { name: 'Second' })
    expect([first.isDefault, second.isDefault]).toEqual([true, false])
    expectProblem(await w.call('DELETE', `/queues/${first.id}`), 409, 'queue_is_default')
    expect((await w.call('PATCH', `/queues/${second.id}`, { json: { isDefault: true } })).json.isDefault).toBe(true)
    expect((await w.call('GET', `/queues/${first.id}`)).json.isDefault).toBe(false)
    expect((await queuePost(w)).json.queueId).toBe(second.id)
    expect((await w.call('DELETE', `/queues/${first.id}`)).status).toBe(204)
    expect((await w.call('DELETE', `/queues/${second.id}`)).status).toBe(204)
  })

  test('has a name of its own', async () => {
    const { id } = await aQueue(w, { name: 'Mornings' })
    const other = await aQueue(w, { name: 'Evenings' })
    const same = { name: 'MORNINGS', timeZone: 'UTC', times: [], channelIds: [w.channelId] }
    expect(faultsOf(await w.call('POST', '/queues', { json: same }))).toEqual(['name name_taken'])
    const { name } = same
    expect(faultsOf(await w.call('PATCH', `/queues/${other.id}`, { json: { name } }))).toEqual(['name name_taken'])
    expect((await w.call('PATCH', `/queues/${id}`, { json: { name } })).json.name).toBe(name)
  })

  test.each([
    [{ times: [{ weekday: 0, time: '09:00' }] }, 'times[0].weekday too_small'],
    [{ times: [{ weekday: 8, time: '09:00' }] }, 'times[0].weekday too_big'],
    [{ times: [{ weekday: 1, time: '9:00' }] }, 'times[0].time invalid'],
    [{ times: [{ weekday: 1, time: '24:00' }] }, 'times[0].time invalid'],
    [{ times: [everyHour[0], everyHour[0]] }, 'times invalid'],
    [{ timeZone: 'Mars/Olympus' }, 'timeZone invalid'],
    [{ timeZone: '+02:00' }, 'timeZone invalid'],
    [{ timeZone: 'BST' }, 'timeZone invalid'], // for ICU, Bangladesh
    [{ timeZone: 'SystemV/PST8PDT' }, 'timeZone invalid'],
    [{ channelIds: [] }, 'channelIds too_small'],
    [{ isDefault: false }, 'isDefault invalid'],
  ])('is refused with %j', async (wrong, fault) => {
    const json = { name: 'x', timeZone: 'UTC', times: [], channelIds: [w.channelId], ...wrong }
    const refused = await w.call('POST', '/queues', { json })
    expectProblem(refused, 400, 'invalid_request')
    expect(faultsOf(refused)).toEqual([fault])
  })

  test('keeps a channel that is disconnected while its channels are changed', async () => {
    const [leaving, slow] = [await w.channel(), await w.channel()]
    const { id } = await aQueue(w, { channelIds: [leaving] })
    const changing = await w.db.transaction(async (tx) => {
      await tx.execute(sql`select from channels where id = ${slow} for update`)
      const change = w.call('PATCH', `/queues/${id}`, { json: { channelIds: [leaving, slow] } })
      await until(() => someoneWaits(w.db)) // it has seen the first channel connected
      await w.db.execute(sql`update channels set status = 'disconnected' where id = ${leaving}`)
      return { change }
    })
    const { status, json } = await changing.change
    expect([status, json.channelIds]).toEqual([200, [slow]])
    await w.db.execute(sql`update channels set status = 'active' where id = ${leaving}`)
    expect((await w.call('GET', `/queues/${id}`)).json.channelIds).toEqual([leaving, slow])
  })

  test('shows and takes no disconnected channel', async () => {
    const gone = await w.channel()
    const { id } = await aQueue(w, { channelIds: [gone, w.channelId] })
    await w.db.execute(`update channels set status = 'disconnected' where id = '${gone}'`)
    expect((await w.call('GET', `/queues/${id}`)).json.channelIds).toEqual([w.channelId])
    expect(faultsOf(await queuePost(w, { channelIds: [gone] }))).toEqual(['channelIds[0] channel_disconnected'])
    const refused = await w.call('PATCH', `/queues/${id}`, { json: { channelIds: [gone] } })
    expect(faultsOf(refused)).toEqual(['channelIds[0] channel_not_found'])
  })
})
