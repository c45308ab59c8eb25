ALTER TYPE "public"."mail_kind" ADD VALUE 'new_address';--> statement-breakpoint
ALTER TYPE "public"."mail_link_kind" ADD VALUE 'new_address';--> statement-breakpoint
ALTER TABLE "mail_links" ALTER COLUMN "token_hash" DROP NOT NULL;