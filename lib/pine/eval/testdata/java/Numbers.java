import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.text.MessageFormat;
import java.util.Locale;
import java.util.Random;

/** Writes numbers as Java does, for TestNumbers_AsJava: java Numbers.java > numbers.txt */
public class Numbers {
    static final String[] PATTERNS = {
        "#.##########", "#.##########", "#.##", "#.##", "0.00", "0.00", "#,##0.00", "#,###.###", "0", "#", "#%", "0.0%", "#.###", "00.0", "#,##0",
        "$#,##0.00", "#.# x", ".00", "0.0000", "#.########", "#,###", "000", "#0.0#",
    };
    static final String[] MESSAGES = {"{0}", "{0,number}", "{0,number,integer}", "{0,number,percent}", "{0,number,currency}", "{0,number,#.##}", "{0,number,0.000}"};

    static double value(Random r, int i) {
        double x;
        switch (i % 10) {
            case 0: x = Math.round(r.nextDouble() * 2e8) / 100.0; break; // near a million, in cents
            case 1: x = Math.round(r.nextDouble() * 1e6) / 8.0; break; // ties
            case 2: x = r.nextInt(2_000_000); break;
            case 3: x = r.nextDouble() * Math.pow(10, r.nextInt(16) - 4); break;
            case 4: x = Math.round(r.nextDouble() * 1e5) / 1e3; break;
            case 5: x = (r.nextInt(2000) + 0.5) / 100; break;
            case 6: x = r.nextDouble(); break;
            case 7: x = Math.round(r.nextDouble() * 1e9) / 1e5; break;
            case 8: x = r.nextDouble() * 1e-6; break;
            default: x = r.nextInt(100) * Math.pow(10, r.nextInt(12));
        }
        return x != 0 && r.nextInt(4) == 0 ? -x : x;
    }

    public static void main(String[] args) {
        Locale.setDefault(Locale.US);
        Random r = new Random(45);
        for (int i = 0; i < 10_000; i++) {
            double x = value(r, i);
            boolean message = i % 4 == 3;
            String pattern = message ? MESSAGES[r.nextInt(MESSAGES.length)] : PATTERNS[r.nextInt(PATTERNS.length)];
            String text = message ? new MessageFormat(pattern, Locale.US).format(new Object[] {x})
                : new DecimalFormat(pattern, new DecimalFormatSymbols(Locale.US)).format(x);
            System.out.println(Long.toHexString(Double.doubleToRawLongBits(x)) + "\t" + (message ? "m" : "p") + "\t" + pattern + "\t" + text);
        }
    }
}
