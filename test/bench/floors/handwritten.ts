// What the web process sends to PostgreSQL for an API key's GET /channels, GET /posts and POST /posts, written by hand.

export const credential = `
  with holder as (
    select id, name, organisation_id, scopes, (last_used_at is null or last_used_at < now() - interval '1 minute') as stale
    from api_keys where key_hash = $1 and revoked_at is null and (expires_at is null or expires_at > now())
  ), counted as (
    insert into throttles as t (key, points, expire)
    select k.key, 1, now() + interval '60 seconds' from (select 'organisation:' || organisation_id from holder) as k (key)
    on conflict (key) do update set
      points = case when t.expire > now() then t.points else 0 end + 1,
      expire = case when t.expire > now() then t.expire else excluded.expire end
    returning points as used, greatest(1, ceil(extract(epoch from expire - now())))::int as "resetSeconds"
  )
  select * from holder, counted`

export const channels = `
  select c.*, case when c.status = 'active' and (
      c.paused_at is not null
      or exists (select from networks n where n.name = c.network and n.paused_at is not null)
      or exists (select from installation i where i.paused_at is not null or i.restored_at is not null))
    then 'paused' else c.status::text end as shown
  from channels c where c.organisation_id = $1 and c.status <> 'disconnected'
  order by c.created_at, c.id limit $2`

export const facts = `
  select now() as now,
    (select coalesce(json_agg(c), '[]') from (
      select id, name, network, status, limits from channels
      where organisation_id = $1 and id = any($2::uuid[]) order by id for key share) c) as channels,
    (select coalesce(json_agg(m), '[]') from (
      select id, mime, bytes, alt, duration_ms as "durationMs" from media
      where organisation_id = $1 and id = any($3::uuid[]) order by id for key share) m) as media`

// A post with what is derived from its deliveries.
const viewOf = (deliveries: string, media: string) => `lateral (
  select
    case
      when count(*) = 0 or (bool_or(s.status = 'DRAFT') and bool_and(s.status in ('DRAFT', 'CANCELLED'))) then 'DRAFT'
      when bool_and(s.status = 'CANCELLED') then 'CANCELLED'
      when bool_or(s.status = 'NEEDS_REVIEW') then 'NEEDS_REVIEW'
      when bool_or(s.status = 'HELD') then 'HELD'
      when bool_or(s.status = 'PUBLISHING')
        or (bool_or(s.status = 'SCHEDULED') and bool_or(s.status in ('PUBLISHED', 'FAILED'))) then 'PUBLISHING'
      when bool_or(s.status = 'SCHEDULED') then 'SCHEDULED'
      when bool_or(s.status = 'PUBLISHED') and bool_or(s.status = 'FAILED') then 'PARTIALLY_PUBLISHED'
      when bool_or(s.status = 'FAILED') then 'FAILED'
      else 'PUBLISHED'
    end as status,
    coalesce(json_agg(json_build_object(
      'channelId', s.channel_id, 'network', s.network, 'status', s.status, 'remoteId', s.remote_id, 'url', s.remote_url,
      'publishedAt', s.published_at, 'attempts', s.attempt_no, 'nextAttemptAt', s.next_attempt_at, 'error', s.error
    ) order by s.position, s.id) filter (where s.id is not null), '[]') as deliveries,
    coalesce(json_agg(json_strip_nulls(json_build_object(
      'channelId', s.channel_id, 'content', s.content, 'mediaIds', s.media_ids
    )) order by s.position, s.id) filter (where coalesce(s.content, s.media_ids::text) is not null), '[]') as overrides,
    (select coalesce(json_agg(m.media_id order by m.position), '[]') from ${media} m
      where m.post_id = p.id and m.organisation_id = p.organisation_id) as media
  from (
    select d.*, c.network, case
      when d.state = 'needs_review' then 'NEEDS_REVIEW'
      when d.state in ('sending', 'uncertain') or d.maybe_out then 'PUBLISHING'
      when d.state = 'claimed' then 'SCHEDULED'
      else upper(d.state::text) end as status
    from ${deliveries} d join channels c on c.id = d.channel_id
    where d.post_id = p.id and d.organisation_id = p.organisation_id
  ) s
) v`

// The newest of each status, each from the index, and of those the newest.
export const posts = `
  with found as materialized (
    select piece.id, piece.date from unnest(array['DRAFT', 'SCHEDULED', 'PUBLISHING', 'PUBLISHED', 'PARTIALLY_PUBLISHED', 'HELD', 'FAILED',
      'NEEDS_REVIEW', 'CANCELLED']) status, lateral (
        (select p.id, p.date from posts p where p.organisation_id = $1 and p.told = status and p.date is not null
          order by p.date desc, p.id desc limit $2)
        union all
        (select p.id, p.date from posts p where p.organisation_id = $1 and p.told = status and p.date is null
          order by p.id desc limit $2)) piece
    order by piece.date desc nulls last, piece.id desc limit $2
  )
  select p.*, v.* from found f join posts p on p.id = f.id and p.organisation_id = $1, ${viewOf('deliveries', 'post_media')}
  order by p.date desc nulls last, p.id desc`

// What it makes is not seen by itself: the post is shown as it comes out of the inserts.
export const createPost = `
  with post as (
    insert into posts (id, organisation_id, type, date, content, told, created_by_kind, created_by_id, created_by_name)
    values ($1, $2, $3, $4, $5, 'SCHEDULED', $6, $7, $8)
    returning *
  ), media as (
    insert into post_media (organisation_id, post_id, media_id, position)
    select $2::uuid, $1::uuid, id, place - 1 from unnest($9::uuid[]) with ordinality as m (id, place)
    returning *
  ), made as (
    insert into deliveries (id, organisation_id, post_id, channel_id, position, state, due_at, publish_key, content, media_ids)
    select r.id, $2::uuid, $1::uuid, r."channelId", r.position, 'scheduled'::delivery_state, $4::timestamptz, r."publishKey",
      r.content, r."mediaIds"
    from json_to_recordset($10::json) as r (id uuid, "channelId" uuid, position smallint, "publishKey" text, content text, "mediaIds" uuid[])
    returning *
  ), sleeping as (
    select d.id, d.ready_at, d.channel_id, (select c.network from channels c where c.id = d.channel_id) as network
    from made d where d.state = 'scheduled'
  ), added as (
    select graphile_worker.add_jobs(array_agg(row(
      'publish', json_build_object('deliveryId', w.id, 'channelId', w.channel_id, 'network', w.network),
      null, w.ready_at, null, w.id::text, null, null
    )::graphile_worker.job_spec order by w.ready_at, w.id))
    from sleeping w having count(*) > 0
  ), woken as (
    select pg_notify('punctual_due', '') from added limit 1
  ), seen as (
    select p.*, v.* from post p, ${viewOf('made', 'media')}
  ), happened as (
    select organisation_id, 'post.created' as type, to_jsonb(s) as subject from seen s
  ), listening as materialized (
    select w.* from webhooks w where w.organisation_id = any(array[$2::uuid]) and w.off_since is null order by w.id for key share
  ), told as (
    select gen_random_uuid() as id, h.organisation_id, h.type, h.subject, listeners.ids from happened h, lateral (
      select array_agg(w.id) as ids from listening w
      where w.organisation_id = h.organisation_id and h.type = any(w.events) and (w.grant_id is null or exists (
        select from grants g where g.id = w.grant_id and g.organisation_id = w.organisation_id and g.revoked_at is null
          and (g.channel_ids is null or case
            when h.type like 'channel.%' then (h.subject->>'id')::uuid = any(g.channel_ids)
            else not exists (
                select from made d
                where d.post_id = (h.subject->>'id')::uuid and d.channel_id <> all(g.channel_ids))
              and (h.subject->>'created_by_id' = w.app_id::text
                or exists (select from made d where d.post_id = (h.subject->>'id')::uuid))
            end)))
    ) listeners where listeners.ids is not null
  ), events as (
    insert into events (id, organisation_id, type, subject) select id, organisation_id, type, subject from told
  ), due as (
    insert into webhook_deliveries (id, organisation_id, webhook_id, event_id, next_attempt_at)
    select gen_random_uuid(), organisation_id, unnest(ids), id, now() from told
    returning webhook_id
  )
  select (select coalesce(json_agg(webhook_id), '[]') from due) as "webhookIds", s.*, (select count(*) from woken) from seen s`
