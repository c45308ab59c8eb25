-- Both come with PostgreSQL. Whoever may create tables in the database may install them.
CREATE EXTENSION IF NOT EXISTS pg_trgm;--> statement-breakpoint
CREATE EXTENSION IF NOT EXISTS btree_gin;--> statement-breakpoint
CREATE TABLE "post_search" (
	"post_id" uuid PRIMARY KEY NOT NULL,
	"organisation_id" uuid NOT NULL,
	"texts" text NOT NULL,
	"tags" text[] NOT NULL
);
--> statement-breakpoint
-- All texts, before anything is locked: this takes half a minute for 100,000 posts, and sending goes on.
INSERT INTO "post_search" (post_id, organisation_id, texts, tags)
  SELECT p.id, p.organisation_id, lower(normalize(p.content || coalesce((
    SELECT string_agg(E'\n' || d.content, '' ORDER BY d.position) FROM "deliveries" d WHERE d.post_id = p.id AND d.content IS NOT NULL
  ), ''), NFKC)), '{}' FROM "posts" p;--> statement-breakpoint
CREATE INDEX "post_search_texts" ON "post_search" USING gin ("organisation_id","texts" gin_trgm_ops);--> statement-breakpoint
CREATE INDEX "post_search_tags" ON "post_search" USING gin ("organisation_id","tags");--> statement-breakpoint
-- In the order that everybody uses, as in migration 0015.
LOCK TABLE "posts", "deliveries" IN ACCESS EXCLUSIVE MODE;--> statement-breakpoint
ALTER TABLE "posts" ADD COLUMN "tags" text[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
-- Names are whole, because there is no search path while a dump is restored.
CREATE FUNCTION post_search_row(post uuid) RETURNS TABLE (post_id uuid, organisation_id uuid, texts text, tags text[]) LANGUAGE sql STABLE AS $$
  select p.id, p.organisation_id, lower(normalize(p.content || coalesce((
    select string_agg(E'\n' || d.content, '' order by d.position) from public.deliveries d where d.post_id = p.id and d.content is not null
  ), ''), NFKC)), p.tags
  from public.posts p where p.id = post
$$;
--> statement-breakpoint
-- Each row of a statement fires, and each sees the whole statement: after the first, nothing is left to write.
CREATE FUNCTION put_post_search() RETURNS trigger LANGUAGE plpgsql AS $$ begin
  insert into public.post_search as s (post_id, organisation_id, texts, tags) select * from public.post_search_row(new.id)
  on conflict (post_id) do update set texts = excluded.texts, tags = excluded.tags
  where (s.texts, s.tags) is distinct from (excluded.texts, excluded.tags);
  return null;
end $$;
--> statement-breakpoint
CREATE FUNCTION put_post_search_of_delivery() RETURNS trigger LANGUAGE plpgsql AS $$ begin
  insert into public.post_search as s (post_id, organisation_id, texts, tags) select * from public.post_search_row(coalesce(new.post_id, old.post_id))
  on conflict (post_id) do update set texts = excluded.texts, tags = excluded.tags
  where (s.texts, s.tags) is distinct from (excluded.texts, excluded.tags);
  return null;
end $$;
--> statement-breakpoint
-- What changed while the texts were read.
DELETE FROM "post_search" s WHERE NOT EXISTS (SELECT FROM "posts" p WHERE p.id = s.post_id);--> statement-breakpoint
INSERT INTO "post_search" (post_id, organisation_id, texts, tags)
  SELECT r.* FROM "posts" p, post_search_row(p.id) r
  WHERE p.updated_at > now() - interval '1 hour' OR NOT EXISTS (SELECT FROM "post_search" s WHERE s.post_id = p.id)
  ON CONFLICT (post_id) DO UPDATE SET texts = excluded.texts;--> statement-breakpoint
ALTER TABLE "post_search" ADD CONSTRAINT "post_search_post" FOREIGN KEY ("organisation_id","post_id") REFERENCES "public"."posts"("organisation_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE TRIGGER posts_search_made AFTER INSERT ON "posts" FOR EACH ROW EXECUTE FUNCTION put_post_search();--> statement-breakpoint
CREATE TRIGGER posts_search_changed AFTER UPDATE ON "posts" FOR EACH ROW
  WHEN (old.content IS DISTINCT FROM new.content OR old.tags IS DISTINCT FROM new.tags) EXECUTE FUNCTION put_post_search();--> statement-breakpoint
CREATE TRIGGER deliveries_search_made AFTER INSERT ON "deliveries" FOR EACH ROW
  WHEN (new.content IS NOT NULL) EXECUTE FUNCTION put_post_search_of_delivery();--> statement-breakpoint
CREATE TRIGGER deliveries_search_changed AFTER UPDATE ON "deliveries" FOR EACH ROW
  WHEN (old.content IS DISTINCT FROM new.content) EXECUTE FUNCTION put_post_search_of_delivery();--> statement-breakpoint
CREATE TRIGGER deliveries_search_gone AFTER DELETE ON "deliveries" FOR EACH ROW
  WHEN (old.content IS NOT NULL) EXECUTE FUNCTION put_post_search_of_delivery();
