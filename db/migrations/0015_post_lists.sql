-- First, and in the order of everybody: what locks a post and then its delivery would wait for this migration, and this for that.
LOCK TABLE "posts", "deliveries" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
CREATE TABLE "channel_posts" (
	"organisation_id" uuid NOT NULL,
	"channel_id" uuid NOT NULL,
	"post_id" uuid NOT NULL,
	"is_alone" boolean NOT NULL,
	"status" text NOT NULL,
	"date" timestamp (3) with time zone,
	"updated_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "channel_posts_post_id_channel_id_pk" PRIMARY KEY("post_id","channel_id")
);
--> statement-breakpoint
-- The names are whole: while a dump is put back there is no search path.
CREATE FUNCTION put_channel_post() RETURNS trigger LANGUAGE plpgsql AS $$ declare
  others boolean := exists (select from public.deliveries o where o.post_id = new.post_id and o.channel_id <> new.channel_id);
begin
  insert into public.channel_posts (organisation_id, channel_id, post_id, is_alone, status, date, updated_at)
  select new.organisation_id, new.channel_id, new.post_id, not others, p.told, p.date, p.updated_at from public.posts p where p.id = new.post_id
  on conflict do nothing;
  if others then
    update public.channel_posts set is_alone = false where post_id = new.post_id and is_alone;
  end if;
  return null;
end $$;
--> statement-breakpoint
CREATE FUNCTION drop_channel_post() RETURNS trigger LANGUAGE plpgsql AS $$ begin
  delete from public.channel_posts where post_id = old.post_id and channel_id = old.channel_id;
  update public.channel_posts c set is_alone = true where c.post_id = old.post_id and not c.is_alone
    and not exists (select from public.deliveries o where o.post_id = old.post_id and o.channel_id <> c.channel_id);
  return null;
end $$;
--> statement-breakpoint
CREATE FUNCTION change_channel_posts() RETURNS trigger LANGUAGE plpgsql AS $$ begin
  update public.channel_posts set status = new.told, date = new.date, updated_at = new.updated_at where post_id = new.id;
  return null;
end $$;
--> statement-breakpoint
-- A process of the version before writes a new status without the instant.
CREATE FUNCTION touch_post() RETURNS trigger LANGUAGE plpgsql AS $$ begin
  new.updated_at := greatest(old.updated_at, now());
  return new;
end $$;
--> statement-breakpoint
CREATE TRIGGER deliveries_made AFTER INSERT ON "deliveries" FOR EACH ROW EXECUTE FUNCTION put_channel_post();--> statement-breakpoint
CREATE TRIGGER deliveries_gone AFTER DELETE ON "deliveries" FOR EACH ROW EXECUTE FUNCTION drop_channel_post();--> statement-breakpoint
CREATE TRIGGER posts_changed AFTER UPDATE ON "posts" FOR EACH ROW
  WHEN ((old.told, old.date, old.updated_at) IS DISTINCT FROM (new.told, new.date, new.updated_at)) EXECUTE FUNCTION change_channel_posts();--> statement-breakpoint
-- A post keeps its status but for what is being sent; only those that differ are written, and so locked.
UPDATE "posts" p SET told = v.resting FROM (
  SELECT p.id, CASE
    WHEN count(s.state) = 0 OR (bool_or(s.state = 'draft') AND bool_and(s.state IN ('draft', 'cancelled'))) THEN 'DRAFT'
    WHEN bool_and(s.state = 'cancelled') THEN 'CANCELLED'
    WHEN bool_or(s.state = 'needs_review') THEN 'NEEDS_REVIEW'
    WHEN bool_or(s.state = 'held') THEN 'HELD'
    WHEN bool_or(s.is_to_come) AND bool_or(s.state IN ('published', 'failed')) THEN 'PUBLISHING'
    WHEN bool_or(s.is_to_come) THEN 'SCHEDULED'
    WHEN bool_or(s.state = 'published') AND bool_or(s.state = 'failed') THEN 'PARTIALLY_PUBLISHED'
    WHEN bool_or(s.state = 'failed') THEN 'FAILED'
    ELSE 'PUBLISHED' END AS resting
  FROM "posts" p LEFT JOIN (
    SELECT post_id, state, state IN ('scheduled', 'claimed', 'sending', 'uncertain') AS is_to_come FROM "deliveries"
  ) s ON s.post_id = p.id GROUP BY p.id
) v WHERE p.id = v.id AND p.told IS DISTINCT FROM v.resting;--> statement-breakpoint
CREATE TRIGGER posts_told BEFORE UPDATE ON "posts" FOR EACH ROW
  WHEN (old.told IS DISTINCT FROM new.told AND old.updated_at = new.updated_at) EXECUTE FUNCTION touch_post();--> statement-breakpoint
INSERT INTO "channel_posts" (organisation_id, channel_id, post_id, is_alone, status, date, updated_at)
  SELECT d.organisation_id, d.channel_id, d.post_id, count(*) OVER (PARTITION BY d.post_id) = 1, p.told, p.date, p.updated_at FROM "deliveries" d JOIN "posts" p ON p.id = d.post_id;--> statement-breakpoint
ALTER TABLE "channel_posts" ADD CONSTRAINT "channel_posts_post" FOREIGN KEY ("organisation_id","post_id") REFERENCES "public"."posts"("organisation_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "channel_posts_date" ON "channel_posts" USING btree ("channel_id","is_alone","date","post_id");--> statement-breakpoint
CREATE INDEX "channel_posts_status" ON "channel_posts" USING btree ("channel_id","is_alone","status","date","post_id");--> statement-breakpoint
CREATE INDEX "channel_posts_updated" ON "channel_posts" USING btree ("channel_id","is_alone","updated_at","post_id");--> statement-breakpoint
CREATE INDEX "deliveries_moving" ON "deliveries" USING btree ("organisation_id","post_id") WHERE state in ('claimed', 'sending', 'uncertain') or (maybe_out and state = 'scheduled');--> statement-breakpoint
CREATE INDEX "posts_status" ON "posts" USING btree ("organisation_id","told","date","id");--> statement-breakpoint
CREATE INDEX "posts_updated" ON "posts" USING btree ("organisation_id","told","updated_at","id");--> statement-breakpoint
CREATE INDEX "posts_drafts_of" ON "posts" USING btree ("created_by_id","date","id") WHERE told = 'DRAFT';--> statement-breakpoint
-- Each claim, intent and end of a send wrote to these two for nothing.
CREATE UNIQUE INDEX "deliveries_remote_id_new" ON "deliveries" USING btree ("channel_id","remote_id") WHERE remote_id is not null;--> statement-breakpoint
CREATE INDEX "deliveries_own_media_new" ON "deliveries" USING gin ("media_ids") WHERE media_ids is not null;--> statement-breakpoint
ALTER TABLE "posts" ALTER COLUMN "told" SET NOT NULL;--> statement-breakpoint
DROP INDEX "posts_soonest";--> statement-breakpoint
DROP INDEX "posts_latest";--> statement-breakpoint
ALTER TABLE "deliveries" DROP CONSTRAINT "deliveries_remote_id";--> statement-breakpoint
ALTER INDEX "deliveries_remote_id_new" RENAME TO "deliveries_remote_id";--> statement-breakpoint
DROP INDEX "deliveries_own_media";--> statement-breakpoint
ALTER INDEX "deliveries_own_media_new" RENAME TO "deliveries_own_media";
